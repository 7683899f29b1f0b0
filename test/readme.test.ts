import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
// @ts-expect-error A script, without types.
import { toPicture } from '../scripts/terminal-picture.js';
import { needs } from './helpers/parts.ts';
import { openTerminal } from './helpers/pty.ts';
import { command, run, temporaryFolder } from './helpers/run.ts';
import { screenOf } from './helpers/screen.ts';

/**
 * The README's examples, run unchanged, one after the other in an empty home. LEADPIPE_GOLDEN=update rewrites their output and the
 * pictures.
 */
const root = join(import.meta.dirname, '..');
const readme = join(root, 'README.md');
const columns = 100;
const isUpdate = process.env.LEADPIPE_GOLDEN === 'update';
const block = /^```console\n\$ (.+)\n([\s\S]*?)^```$/gm;
const pictures = { dark: join(root, 'docs/search-dark.svg'), light: join(root, 'docs/search-light.svg') };

interface Example {
  readonly line: string;
  readonly transcript: string;
  readonly code: number | null;
}

const textOf = (file: string): string => readFileSync(file, 'utf8');

/** What a terminal shows, without what is another each time. */
async function shownBy({ transcript }: Example): Promise<string> {
  const { text } = await screenOf(transcript, columns);
  return `${text
    .replaceAll('\n↪', '')
    .replace(/\bop_[0-9a-v]{14}\b/g, 'op_1k82…')
    .replace(/(?<![\d-])\d\d-\d\d \d\d:\d\d\b/g, '11-22 09:00')
    .replace(/ +$/gm, '')
    .trimEnd()}\n`;
}

describe.skipIf(!needs('bash', 'script', 'stty'))('the examples of the README', () => {
  const examples: Example[] = [];
  const home = temporaryFolder();
  const cwd = join(home, 'work');

  beforeAll(async () => {
    const bin = join(home, 'bin');
    for (const folder of [bin, cwd]) mkdirSync(folder);
    writeFileSync(join(bin, 'leadpipe'), `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`);
    chmodSync(join(bin, 'leadpipe'), 0o755);
    const env = {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      LEADPIPE_CONFIG_DIR: '',
      LEADPIPE_STATE_DIR: '',
    };
    for (const [, line = ''] of textOf(readme).matchAll(block)) {
      const terminal = openTerminal(['bash', '-c', line], { columns, rows: 50, env, cwd, limitMs: 60_000 });
      examples.push({ line, ...(await terminal.ended) });
    }
    if (!isUpdate) return;
    const shown = await Promise.all(examples.map(shownBy));
    const text = textOf(readme).replace(
      block,
      (_, line: string) => `\`\`\`console\n$ ${line}\n${shown.shift()}\`\`\``,
    );
    writeFileSync(readme, text);
  }, 240_000);

  it('are five, and each ends well', () => {
    expect(examples.map(({ line, code }) => `${line}: ${code}`)).toEqual(
      examples.map(({ line }) => `${line}: 0`),
    );
    expect(examples).toHaveLength(5);
  });

  it('show what the README shows', async () => {
    const said = [...textOf(readme).matchAll(block)].map(([, , output]) => output);
    expect(await Promise.all(examples.map(shownBy))).toEqual(said);
  });

  it('leave the files that they name, with a row for each lead', () => {
    const named = examples.flatMap(({ line }) => line.match(/(?<= -o )\S+/g) ?? []);
    expect(named.length).toBeGreaterThan(1);
    expect(readdirSync(cwd).sort()).toEqual(named.sort());
    for (const file of named) expect(textOf(join(cwd, file)).split('\n').length).toBeGreaterThan(5);
  });

  it.each(['dark', 'light'] as const)('begin with what its %s picture shows', async (theme) => {
    const [{ line, transcript } = { line: '', transcript: '' }] = examples;
    const same = transcript.replace(/\bop_[0-9a-v]{14}\b/g, 'op_1k82hq3v0t7l2c');
    const picture = await toPicture(`\x1b[1m$ ${line}\x1b[0m\r\n${same}`, columns, theme);
    if (isUpdate) writeFileSync(pictures[theme], picture);
    expect(picture).toBe(textOf(pictures[theme]));
  });
});

describe('the documentation', () => {
  it('shares a list between machines with options that there are, into one file for each', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'companies.csv'), 'objective\nCTO of Nordlicht Pay\nCTO of Eichwald Pay\n');
    const text = textOf(join(root, 'docs/many-machines.md'))
      .replaceAll('/data/', '')
      .replace(/\n +-o /, ' -o ');
    const lines = text.match(/leadpipe contact email --input .+ -o "?out-\S+/g) ?? [];
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const [, ...words] = line.replaceAll('"', '').replaceAll('{}', '1').split(' ');
      const slurm = { SLURM_ARRAY_TASK_ID: '1', SLURM_ARRAY_TASK_MIN: '0', SLURM_ARRAY_TASK_COUNT: '8' };
      const env = line.includes('SLURM') ? slurm : { JOB_COMPLETION_INDEX: '1' };
      expect(await run([...words, '--dry-run', '--local'], { cwd, env }), line).toMatchObject({ code: 0 });
    }
  });

  it('has settings for agents that are JSON', () => {
    const [, settings = ''] = /^```json\n([\s\S]*?)^```$/m.exec(textOf(join(root, 'docs/agents.md'))) ?? [];
    expect(JSON.parse(settings).mcpServers.leadpipe.args).toContain('mcp');
  });
});

describe('the README', () => {
  it('fits two screens', () => {
    const text = textOf(readme);
    expect(text.length).toBeLessThanOrEqual(6000);
    expect(text.split('\n').length).toBeLessThanOrEqual(116);
  });

  it('has the two commands that .ci/run takes: a first search, and at its end the tests', () => {
    const [first, second] = [...textOf(readme).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, one]) => one);
    expect(first).toMatch(/^npm ci && npm --silent start -- search .*Berlin" --limit 10 --local\n$/);
    expect(second).toBe('npm ci && npm run debian-parts && npm run check\n');
    expect(textOf(readme)).toMatch(/^## Working on leadpipe\n\n.+\n\n```sh\n.+\n```\n$(?![\s\S])/m);
  });

  it('says the same about paying twice as docs/money.md', () => {
    const [sentence = ''] = /^After a crash, .*? new purchase\.$/m.exec(textOf(readme)) ?? [];
    expect(sentence).toContain('resume');
    expect(textOf(join(root, 'docs/money.md'))).toContain(sentence);
  });
});

const documents = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'].concat(
  readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
);

it.each(documents.filter((one) => /^(?:README|docs)/.test(one)))(
  'no bullet of %s has more than two lines',
  (document) => {
    const bullets =
      textOf(join(root, document))
        .replace(/^```[\s\S]*?^```$/gm, '')
        .match(/^ *(?:[-*]|\d+\.) .*(?:\n +(?![ *-] ).*)*/gm) ?? [];
    expect(bullets.filter((one) => one.split('\n').length > 2 || one.length > 300)).toEqual([]);
  },
);

it.each(documents)('%s links only to what is there', (document) => {
  const text = textOf(join(root, document));
  const targets = [...text.matchAll(/\]\((?!http)([^)]+)\)|(?:src|srcset)="([^"]+)"/g)];
  for (const [, link, source] of targets) {
    const [path = '', heading] = (link ?? source ?? '').split('#');
    const file = path === '' ? join(root, document) : join(root, document, '..', path);
    expect(existsSync(file), `${document}: ${path}`).toBe(true);
    const headings = [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, one = '']) =>
      one.toLowerCase().replaceAll(' ', '-'),
    );
    if (heading !== undefined) expect(headings).toContain(heading);
  }
});
