import { Help } from 'commander';
import type { Manual, ManualBlock } from './manual.ts';

/** Wider lines are hard to read. */
const widest = 100;

/** What of a term stands beside its meaning. */
const besides = 6;

/** Pure: the page as plain text, for a terminal of this many columns. */
export function toPlainText({ blocks }: Manual, columns: number): string {
  const width = Math.min(columns, widest);
  const texts = blocks.map(
    (block, at) => (isClose(blocks[at - 1], block) ? '' : '\n') + toText(block, width),
  );
  return `${texts.join('\n')}\n`;
}

/** Whether no empty line stands between them. */
function isClose(before: ManualBlock | undefined, { kind }: ManualBlock): boolean {
  if (before === undefined || kind === 'lines') return true;
  if (before.kind === 'section') return kind !== 'command';
  return kind === 'item' ? before.kind === 'item' : kind === 'paragraph' && before.kind === 'command';
}

function toText(block: ManualBlock, width: number): string {
  switch (block.kind) {
    case 'section':
      return block.text.toUpperCase();
    case 'command':
      return filled(block.text, 2, width);
    case 'paragraph':
      return filled(block.text, 4, width);
    case 'item': {
      const meaning = filled(block.text, 4 + besides, width);
      return block.term.length < besides
        ? `    ${block.term.padEnd(besides)}${meaning.trimStart()}`
        : `${filled(block.term, 4, width)}\n${meaning}`;
    }
    case 'lines':
      return block.lines.map((line) => `      ${line}`).join('\n');
  }
}

function filled(text: string, indent: number, width: number): string {
  const margin = ' '.repeat(indent);
  return margin + new Help().boxWrap(text, width - indent).replaceAll('\n', `\n${margin}`);
}
