/**
 * `npm run bench`: leadpipe beside what a user would pick instead, as one table of ratios. Pairs are taken in turn (A B A B …),
 * so that a ratio holds while the machine's speed drifts; the spread says how noisy the machine was.
 *
 *   npm run bench -- [--node <binary>]… [--only <word>]… [--pairs <n>] [--json <file>]
 *
 * Each --node is measured (this one when none is given). --only takes rows whose names contain a word. The table is Markdown.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { spreadOf } from './measured.js';
import { listRows } from './rows/lists.js';
import { packageRows } from './rows/package.js';
import { requestRows } from './rows/requests.js';
import { startUpRows } from './rows/start-up.js';
import { streamRows } from './rows/streams.js';

const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: [process.execPath] },
    only: { type: 'string', multiple: true, default: [''] },
    pairs: { type: 'string', default: '11' },
    json: { type: 'string' },
  },
});

const results = [];
/** Also of the first word of some rows. */
const isWanted = (name) => values.only.some((word) => name.includes(word) || word.includes(name));

/** Takes the pairs of a row and puts it into the table. `aim` is the ratio to reach, with the sign that it is compared by. */
async function measure({ name, node = '–', aim = '', unit = 'ms', pairs, each = ([a, b]) => a / b }) {
  if (!isWanted(name)) return;
  const taken = await pairs(Number(values.pairs));
  const row = {
    name,
    node,
    aim,
    unit,
    ratio: spreadOf(taken.map(each)),
    own: spreadOf(taken.map(([own]) => own)),
    other: spreadOf(taken.map(([, other]) => other)),
  };
  results.push(row);
  console.error(`${node} ${name}: ${row.ratio.median.toFixed(2)}`);
}

for (const binary of values.node) {
  const node = { binary, version: execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim() };
  for (const rows of [startUpRows, requestRows, streamRows, listRows]) await rows(measure, isWanted, node);
}
await packageRows(measure, isWanted);

const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${process.platform} ${process.arch}`;
if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine, rows: results }, null, 2)}\n`);
console.log(toMarkdown());

function toMarkdown() {
  const lines = results.map(({ name, node, aim, unit, ratio, own, other }) =>
    cells(
      name.replaceAll('|', '\\|'),
      node,
      ratioText(ratio),
      aim,
      `${amount(own)} / ${amount(other)} ${unit}`,
    ),
  );
  return [
    `Measured on ${machine}. A ratio is the median of pairs, with the least and the most.`,
    '',
    cells('what', 'Node', 'ratio', 'aim', 'medians'),
    cells('---', '---', '---', '---', '---'),
    ...lines,
  ].join('\n');
}

function cells(...texts) {
  return `| ${texts.join(' | ')} |`;
}

function ratioText({ median, least, most }) {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
}

function amount({ median }) {
  return median >= 100 ? median.toFixed(0) : median.toFixed(1);
}
