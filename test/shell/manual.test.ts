import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Manual, toPlainText, toRoff } from '../../scripts/manual-page.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal } from '../helpers/pty.ts';
import { run } from '../helpers/run.ts';

const parts: readonly string[] = [
  'NAME',
  'leadpipe - find leads',
  'leadpipe search [options] <entity-type> <objective>',
  'leadpipe task wait [options] <leads-search-id>',
  '--enable-web-search',
  '-f, --format <format>',
  'table, cards, jsonl, json, csv',
  'LEADPIPE_BASE_URL',
  '~/.config/leadpipe/config.json',
  'outcome unknown: it may have been bought',
  'leadpipe search company "fintech in Berlin" --local',
];

/** What man shows, without its overstrikes and on long lines. */
function rendered(source: string): string {
  const { stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou', '-rLL=200n'], {
    input: source,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout;
}

describe('the manual page', () => {
  it.skipIf(!needs('groff'))('is roff without a warning, with everything in it', async () => {
    const { stdout, code } = await run(['man']);
    expect(code).toBe(0);
    const page = rendered(stdout);
    for (const part of parts) expect(page).toContain(part);
  });

  it.skipIf(!needs('man'))('is read by man', async () => {
    const { stdout } = await run(['man']);
    const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8', MAN_KEEP_FORMATTING: '' };
    const shown = spawnSync('man', ['--warnings', '-l', '-'], { input: stdout, encoding: 'utf8', env });
    const { stdout: page, stderr, status } = shown;
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(page).toMatch(/^LEADPIPE\(1\)/);
  });

  it('has every option and command of the help', async () => {
    const { stdout: source } = await runInProcess(['man']);
    for (const name of ['search', 'task run', 'history list', 'serve', 'completion']) {
      const { stdout: help } = await runInProcess([...name.split(' '), '--help']);
      for (const [, long = ''] of help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)) {
        if (long !== '--help') expect(source).toContain(long.replaceAll('-', '\\-'));
      }
    }
  });

  it.skipIf(!needs('script')).each([
    ['a pager of the user', "sed 's/^NAME$/NAME (paged)/'", 'NAME (paged)'],
    ['a pager that there is not', 'no-such-pager', 'NAME'],
  ])('is plain text on a terminal, which it fits: %s', async (_, pager, first) => {
    const { transcript, code } = await inTerminal(['man'], { columns: 90, env: { PAGER: pager } }).ended;
    expect(code).toBe(0);
    const lines = transcript.split('\r\n');
    expect(lines[0]).toBe(first);
    expect(lines.filter((line) => line.length > 90)).toEqual([]);
    for (const part of parts) expect(transcript).toContain(part);
    expect(transcript).not.toContain('\x1b');
  });
});

describe('a text that means something to roff', () => {
  const texts = ['.TH a', "'br", '\\fB\\n', 'a - --b', '`x` "y" \'z\' ^ ~ …', '.', '\\', '日本'];
  const manual: Manual = {
    name: 'x',
    version: '1',
    blocks: [
      { kind: 'section', text: 'S' },
      ...texts.map((text) => ({ kind: 'paragraph', text }) as const),
      { kind: 'lines', lines: texts },
      ...texts.map((text) => ({ kind: 'item', term: text, text }) as const),
    ],
  };

  it.skipIf(!needs('groff'))('comes out as it was', () => {
    const lines = rendered(toRoff(manual))
      .split('\n')
      .map((line) => line.trim());
    const shown = lines.filter((line) => line !== '').slice(2, -1);
    const plain = texts.map((text) => text.replace('…', '...'));
    expect(shown.slice(0, 2 * texts.length)).toEqual([...plain, ...plain]);
    for (const text of plain) expect(shown.filter((line) => line.includes(text)).length).toBeGreaterThan(2);
  });

  it('is plain in plain text', () => {
    const text = toPlainText(manual, 40);
    for (const one of texts) expect(text).toContain(`\n    ${one}\n`);
  });
});
