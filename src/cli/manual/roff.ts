import type { Manual, ManualBlock } from './manual.ts';

/** Pure: the source of the page, in the macros of man(7), which man-db, groff and mandoc read. */
export function toRoff({ name, version, blocks }: Manual): string {
  const title = `.TH ${name.toUpperCase()} 1 "" "${escaped(`${name} ${version}`)}" "${escaped(name)}"`;
  // No hyphens that are not there, and no gaps in what is for copying.
  return `${[title, '.nh', '.ad l', ...blocks.flatMap(toLines)].join('\n')}\n`;
}

function toLines(block: ManualBlock): string[] {
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
