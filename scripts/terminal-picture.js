/**
 * Draws the screen of a dark or a light terminal, after it has received some bytes, as SVG.
 *
 *   script -qc 'leadpipe history' /dev/null | node scripts/terminal-picture.js <columns> <dark|light> > history.svg
 *
 * The pictures of the README are made by test/readme.test.ts, from the examples that it runs.
 */
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import xterm from '@xterm/headless';

/** The 16 colours of a terminal, in their order; its background, its text, and the line around it. */
const themes = {
  dark: {
    colours:
      '484f58 ff7b72 3fb950 d29922 58a6ff bc8cff 39c5cf b1bac4 6e7681 ffa198 56d364 e3b341 79c0ff d2a8ff 56d4dd f0f6fc',
    ground: '#0d1117',
    text: '#e6edf3',
    edge: '#30363d',
  },
  light: {
    colours:
      '24292f cf222e 116329 4d2d00 0969da 8250df 1b7c83 6e7781 57606a a40e26 1a7f37 633c01 218bff a475f9 3192aa 8c959f',
    ground: '#ffffff',
    text: '#1f2328',
    edge: '#d1d9e0',
  },
};

/** More rows than any picture has, so that nothing scrolls away. */
const rows = 200;
/** Width and height of a character, and width of the edge, in pixels. */
const [wide, high, edge] = [8.4, 19, 16];

/** The picture of a transcript, as SVG. `theme` is `dark` or `light`. */
export async function toPicture(transcript, columns, theme) {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
  await new Promise((resolve) => terminal.write(transcript, resolve));
  const lines = Array.from({ length: rows }, (_, at) => runsOf(terminal.buffer.active.getLine(at), columns));
  const used = lines.findLastIndex((runs) => runs.length > 0) + 1;
  const [width, height] = [Math.ceil(columns * wide + 2 * edge), used * high + 2 * edge];
  const { ground, text, edge: line } = themes[theme];
  const drawn = lines.slice(0, used).flatMap((runs, at) => runs.map((run) => toText(run, at, themes[theme])));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    '<title>A search with leadpipe, as a terminal shows it</title>',
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${ground}" stroke="${line}"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${text}" xml:space="preserve">`,
    ...drawn,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** The pieces of a line that look the same, without blanks at the ends. */
function runsOf(line, columns) {
  const runs = [];
  for (let at = 0; at < columns; at++) {
    const cell = line?.getCell(at);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const look = lookOf(cell);
    const last = runs.at(-1);
    const cells = cell.getWidth();
    if (last !== undefined && isSame(last.look, look)) {
      last.text += cell.getChars() || ' ';
      last.cells += cells;
    } else runs.push({ at, cells, look, text: cell.getChars() || ' ' });
  }
  return runs.flatMap((run) => {
    const text = run.text.trim();
    if (text === '') return [];
    const before = run.text.length - run.text.trimStart().length;
    const after = run.text.length - run.text.trimEnd().length;
    return [{ ...run, text, at: run.at + before, cells: run.cells - before - after }];
  });
}

function lookOf(cell) {
  const isNamed = cell.isFgPalette();
  return {
    colour: isNamed ? cell.getFgColor() : undefined,
    // Fonts give these a different width, so they are stretched separately.
    wide: cell.getWidth() === 2,
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    underline: cell.isUnderline() !== 0,
  };
}

const isSame = (one, other) => Object.keys(one).every((name) => one[name] === other[name]);

function toText({ at, cells, look, text }, line, { colours }) {
  const named = look.colour === undefined ? undefined : colours.split(' ')[look.colour];
  const as = [
    named === undefined ? '' : ` fill="#${named}"`,
    look.bold ? ' font-weight="bold"' : '',
    look.dim ? ' opacity="0.6"' : '',
    look.underline ? ' text-decoration="underline"' : '',
  ].join('');
  const x = (edge + at * wide).toFixed(1);
  const y = edge + (line + 0.75) * high;
  // With any font, each piece is as wide as its cells.
  return `<text x="${x}" y="${y}" textLength="${(cells * wide).toFixed(1)}" lengthAdjust="spacingAndGlyphs"${as}>${escaped(text)}</text>`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [columns = '100', theme = 'dark'] = process.argv.slice(2);
  if (!(theme in themes) || !Number.isInteger(Number(columns))) {
    console.error(
      'usage: node scripts/terminal-picture.js <columns> <dark|light> < transcript > picture.svg',
    );
    process.exit(2);
  }
  process.stdout.write(await toPicture(await textOf(process.stdin), Number(columns), theme));
}
