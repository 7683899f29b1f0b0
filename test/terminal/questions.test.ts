import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal } from '../helpers/pty.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { until } from '../helpers/run.ts';
import { screenOf } from '../helpers/screen.ts';
import { writeSettings } from '../helpers/settings.ts';
import { settled } from './settled.ts';

/** The question on a terminal before something is bought again, in the words of `resume`, and the effect of each answer. */

const price = { 'price.contact.email': 5 };
const list = 'contact email --input rows.csv';
const rows = 'objective\nAda\nBo\nCy\n';
/** Behind the last word of a question. */
const asks = /\[y\/N\] \S*$/;

/** The question on a screen of this width, as one line. It must not be cut. */
async function questionOf(transcript: string, columns: number): Promise<string> {
  const { text } = await screenOf(transcript, columns);
  expect(text).not.toContain('↪');
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  return settled(text.replace(/\s+/g, ' ').trim());
}

/** Types the answer to the question of this command, and says what was asked and what came then. */
async function answered(at: Machine, line: string, keys: string, columns = 80) {
  const terminal = inTerminal(line, { columns, cwd: at.cwd, env: at.env });
  await terminal.waitFor(asks);
  const question = await questionOf(terminal.transcript(), columns);
  const written = operations(at);
  for (const key of keys.split(' ')) {
    terminal.type(`${key}\r`);
    if (key === 'later') await terminal.waitFor(/Type y or n\.\s[\s\S]*\[y\/N\] \S*$/);
  }
  const { code, transcript } = await terminal.ended;
  return { question, written, code, text: await questionOf(transcript, columns) };
}

const operations = ({ state }: Machine): number => readdirSync(join(state, 'operations')).length;
const nothing = 'Nothing was bought.';

describe.skipIf(!needs('script', 'stty'))('what was bought before', () => {
  let service: Awaited<ReturnType<typeof startRowService>>;
  let at: Machine;
  beforeEach(async () => {
    service = await startRowService();
    at = createMachine(service.url);
    at.write('rows.csv', rows);
    writeSettings(at.env, price);
  });

  it.each([
    ['Enter', '', 60, false],
    ['n', 'n', 80, false],
    ['no', 'no', 120, false],
    ['y', 'y', 60, true],
    ['yes', 'YES', 120, true],
    ['something else, and then y', 'later y', 80, true],
  ])('is a list that is finished: %s', async (_, keys, columns, isBought) => {
    expect((await at.run(list)).code).toBe(0);
    const { code, question, text, written } = await answered(at, list, keys, columns);
    expect(question).toBe(
      'You already bought a list from this file at 2026-01-01 00:00: contact email rows.csv, 3 rows done. To print that one, for free: leadpipe history show op_00000000000000. Buy it again, for at most 15 credits? [y/N]',
    );
    // While it is asked, nothing was written down or sent.
    expect(written).toBe(1);
    expect({ code, isDeclined: text.endsWith(nothing) }).toEqual({ code: 0, isDeclined: !isBought });
    expect([service.charged.size, operations(at)]).toEqual(isBought ? [6, 2] : [3, 1]);
  });

  it.each([60, 80, 120])('is a list that Ctrl-C has stopped, without -o, at %i columns', async (columns) => {
    const { gate, open } = createGate('Bo');
    service = await startRowService({ gate });
    at.env.LEADPIPE_BASE_URL = service.url;
    const first = inTerminal(`${list} --concurrency 1`, { columns, cwd: at.cwd, env: at.env });
    await until(() => service.requests() === 2);
    first.type('\x03');
    await first.waitFor(/pending answer/);
    open();
    expect((await first.ended).code).toBe(130);
    const { code, question, text } = await answered(at, list, 'n', columns);
    expect(question).toBe(
      'You started a list from this file at 2026-01-01 00:00 and did not finish it: contact email rows.csv, 2 rows done. To finish that one instead: leadpipe resume op_00000000000000. Buy it again, for at most 15 credits? [y/N]',
    );
    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining(nothing) });
    expect(service.charged.size).toBe(2);
  });

  it('is a search, and the one that fits best is named: complete into the same file before unfinished elsewhere', async () => {
    let isCut = false;
    const server = await startSearchServer(() =>
      searchFrames([['{"name":"A"}']]).slice(0, isCut ? 1 : undefined),
    );
    at = createMachine(server.url);
    const search = 'search company x --limit 8';
    expect((await at.run(`${search} -o a.jsonl`)).code).toBe(0);
    expect((await at.run(`${search} -o d.jsonl`)).code).toBe(0);
    const [whole, later] = await at.history();
    isCut = true;
    expect((await at.run(`${search} -o b.jsonl`)).code).toBe(3);
    const left = (await at.history())[2];
    const bought = () => server.requests.length;
    const before = bought();
    for (const [file, named, words] of [
      ['a.jsonl', whole, 'already bought this'],
      ['c.jsonl', later, 'already bought this'],
    ] as const) {
      const { transcript } = await declined(`${search} -o ${file}`);
      expect(transcript).toContain(words);
      expect(transcript).toContain(String(named?.operation_id));
      expect(transcript).toContain('for at most 8 credits?');
    }
    // With another limit it is another purchase: the unfinished one alone helps.
    const { transcript } = await declined('search company x --limit 9 -o c.jsonl');
    expect(transcript).toContain(`leadpipe resume ${left?.operation_id}`);
    expect(bought()).toBe(before);

    async function declined(line: string) {
      const terminal = inTerminal(line, { columns: 200, cwd: at.cwd, env: at.env });
      await terminal.waitFor(asks);
      terminal.type('\r');
      return await terminal.ended;
    }
  });

  it('is not asked with --yes, --only-new, --run, --local or standard input', async () => {
    const server = await startSearchServer(() => searchFrames([['{"name":"A"}']]));
    const there = createMachine(server.url);
    const run = async (machine: Machine, line: string, redirect = '') => {
      const { code, transcript } = await inTerminal(line, { cwd: machine.cwd, env: machine.env, redirect })
        .ended;
      expect({ line, code }).toEqual({ line, code: 0 });
      return transcript.replace(/\s+/g, ' ');
    };
    for (const _ of [1, 2]) {
      expect(await run(there, 'search company x --only-new')).not.toContain('You already');
      expect(await run(at, `${list} --run october`)).not.toContain('You already');
      expect(await run(at, 'contact email --input -', '<rows.csv')).not.toContain('You already');
      expect(await run(at, `search company x --limit 2 --local`)).not.toContain('You already');
    }
    // It was bought under a name.
    expect(await run(at, `${list} --yes`)).toContain('will be charged again, for at most 15 credits');
    expect(service.charged.size).toBe(3 + 6 + 3);
  });

  it('prints one line without a terminal, and buys; -q silences the line', async () => {
    await at.run(list);
    const again = await at.run(list);
    expect(again.stderr.split('\n')[0]).toMatch(
      /^You already bought a list from this file at .*: contact email rows\.csv, 3 rows done\. This run will be charged again, for at most 15 credits\. To print that one, for free: leadpipe history show op_\w+$/,
    );
    expect((await at.run(`${list} -q`)).stderr).toBe('');
    expect(service.charged.size).toBe(9);
  });

  it('is asked about after nothing refuses it', async () => {
    await at.run(list);
    const { code, transcript } = await inTerminal(`${list} --max-credits 14`, { cwd: at.cwd, env: at.env })
      .ended;
    expect(code).toBe(5);
    expect(transcript).not.toContain('[y/N]');
  });
});
