import { Help } from 'commander';
import type { Manual, ManualBlock } from './manual.ts';

/** Pure: the source of the page, in the macros of man(7), which man-db, groff and mandoc read. */
export function toRoff({ name, version, blocks }: Manual): string {
  const title = `.TH ${name.toUpperCase()} 1 "" "${escaped(`${name} ${version}`)}" "${escaped(name)}"`;
  // No hyphens that are not there, and no gaps in what is for copying.
  return `${[title, '.nh', '.ad l', ...blocks.flatMap(toRoffLines)].join('\n')}\n`;
}

function toRoffLines(block: ManualBlock): string[] {
  switch (block.kind) {
    case 'section':
      return [`.SH ${escaped(block.text.toUpperCase())}`];
    case 'command':
      return [`.SS ${escaped(block.text)}`];
    case 'paragraph':
      return ['.PP', textLine(block.text)];
    case 'item':
      return ['.TP', `\\fB${escaped(block.term)}\\fR`, textLine(block.text)];
    case 'lines':
      return ['.RS 2', '.nf', ...block.lines.map(textLine), '.fi', '.RE'];
  }
}

/** A point or a quote in front would make it a request. */
function textLine(text: string): string {
  return /^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text);
}

const glyphs: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  // Alone these are typographic: a hyphen, quotes, accents. Here everything is for copying.
  '-': '\\-',
  "'": '\\(aq',
  '"': '\\(dq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  // Devices without it would leave a gap.
  '…': '...',
};

function escaped(text: string): string {
  return text.replace(
    /[\\\-'"`^~]|[^\0-\x7f]/gu,
    (char) =>
      glyphs[char] ?? `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** What of a term stands beside its meaning. */
const besides = 6;

/** Pure: the page as plain text, with lines of this many columns. */
export function toPlainText({ blocks }: Manual, width: number): string {
  const texts = blocks.map(
    (block, at) => (isClose(blocks[at - 1], block) ? '' : '\n') + toBlockText(block, width),
  );
  return `${texts.join('\n')}\n`;
}

/** Whether no empty line stands between them. */
function isClose(before: ManualBlock | undefined, { kind }: ManualBlock): boolean {
  if (before === undefined || kind === 'lines') return true;
  if (before.kind === 'section') return kind !== 'command';
  return kind === 'item' ? before.kind === 'item' : kind === 'paragraph' && before.kind === 'command';
}

function toBlockText(block: ManualBlock, width: number): string {
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
