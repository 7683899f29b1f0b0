import { execFile } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { topicNames } from '../../src/cli/help.ts';
import { formats } from '../../src/output/writer.ts';
import { answerKindRows } from '../helpers/answer-kinds.ts';
import { creditBalance } from '../helpers/bodies.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, jsonAnswer, searchFrames, streamStart, wholeAnswer } from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { needs } from '../helpers/parts.ts';
import {
  bareEnvironment,
  command,
  type Result,
  resultOf,
  run,
  start,
  temporaryFolder,
} from '../helpers/run.ts';
import { withConfigFile, writeConfig } from '../helpers/settings.ts';

/** The help of every command, by its name. */
const helps = new Map<string, string>();
/** The same for programs, which has everything. */
const described = new Map<string, Described>();
/** With a service, to which nothing must be sent. */
let at: Awaited<ReturnType<typeof machineWith>>;

interface Described {
  readonly command: string;
  readonly options: readonly { readonly name: string; readonly group: string }[];
  readonly exit_codes: readonly { readonly code: number }[];
  readonly commands: readonly Described[];
}

function describeAll(one: Described): void {
  described.set(one.command.replace(/^leadpipe ?/, ''), one);
  one.commands.forEach(describeAll);
}

/** Reads the help of a command and of all below it. */
async function readHelps(name: string): Promise<void> {
  const { code, stdout, stderr } = await at.leadpipe(`${name} --help`);
  expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
  helps.set(name, stdout);
  for (const sub of namesIn(stdout)) await readHelps(`${name} ${sub}`.trim());
}

function namesIn(help: string): string[] {
  const list = /^Commands:\n((?: .*\n)+)/m.exec(help)?.[1] ?? '';
  return [...list.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
}

function examplesIn(help: string): string[] {
  const list = /^Examples:\n((?: .*\n)+)/m.exec(help)?.[1] ?? '';
  return list
    .replace(/^ {4}/gm, '')
    .split(/^ {2}\$ /m)
    .slice(1)
    .map((example) => example.trimEnd());
}

/** The codes of its own. */
function codesIn(help: string): number[] {
  const list = /^Exit codes .*:\n((?: .*\n)+)/m.exec(help)?.[1] ?? '';
  return [...list.matchAll(/^ +(\d+) {2}\w/gm)].map(([, code]) => Number(code));
}

/** As they stand in a help. */
const meanings = Object.values(exitCodes).map(({ code, meaning }) => `${code}  ${meaning}`);

beforeAll(async () => {
  at = await machineWith((socket) => void socket.destroy());
  await readHelps('');
  describeAll(JSON.parse((await at.leadpipe('help --json')).stdout));
});

/** Lines that are wider than this. */
const widerThan = (columns: number, text: string): string[] =>
  text.split('\n').filter((line) => line.length > columns);

describe('the help of every command', () => {
  it('is there, and asks no service for anything', () => {
    expect([...helps.keys()]).toEqual(
      expect.arrayContaining(['', 'search', 'task', 'task run', 'resume', 'history', 'history list', 'man']),
    );
    expect(at.connections()).toBe(0);
  });

  it('has a usage, two examples, the shape of the output and the exit codes', () => {
    for (const [name, help] of helps) {
      const [usage, ...headings] = help.match(/^\S[^:\n]*:(?=.*$)/gm) ?? [];
      expect(usage).toBe('Usage:');
      expect({ name, examples: examplesIn(help).length }).toEqual({ name, examples: 2 });
      const isGroup = namesIn(help).length > 0;
      const wanted = isGroup ? ['Commands:'] : ['Output shape:'];
      expect({ name, headings }).toEqual({ name, headings: expect.arrayContaining(wanted) });
      if (name !== '') expect(help).toMatch(/^Exit codes(?:: see | \()leadpipe help exit-codes/m);
    }
  });

  it('explains its own options and the common ones on a line or two, and names the others, which `help options` explains', async () => {
    const headings = helps.get('search')?.match(/^(?! )[\w ]+(?=:$| \(leadpipe|: )/gm);
    const wanted =
      'Usage|Arguments|What to find|Shared options|More options|Examples|Output shape|Cost|Exit codes';
    expect(headings?.join('|')).toBe(wanted);
    const common =
      '--format --output --append --columns --max-credits --dry-run --local --quiet --help'.split(' ');
    const rows = '--input --only-missing --first'.split(' ');
    const { stdout: topic } = await runInProcess('help options');
    /** The options that a text explains, each with its lines. */
    const explainedIn = (text: string) =>
      new Map(
        [...text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+).*(?:\n {3,}.*)*/gm)].map(([lines, name = '']) => [
          name,
          lines,
        ]),
      );
    /** Without the columns in which they are. */
    const wordsOf = (text = ''): string => text.replace(/\s+/g, ' ');
    for (const [name, help] of helps) {
      const explained = explainedIn(help.split('\nMore options')[0] ?? '');
      const named = /^More options[^:]*: (.*(?:\n {2}.*)*)/m.exec(help)?.[1]?.split(/,\s+/) ?? [];
      const all = described.get(name)?.options ?? [];
      expect({ name, options: [...explained.keys(), ...named].sort() }).toEqual({
        name,
        options: all.map((one) => one.name).sort(),
      });
      for (const { name: option, group } of all) {
        const isShared = topic.includes(`\n${group}:\n`);
        const isExplained = !isShared || [...common, ...rows].includes(option);
        expect({ name, option, isExplained: explained.has(option) }).toEqual({ name, option, isExplained });
        expect((explained.get(option)?.split('\n').length ?? 0) <= 2).toBe(true);
        // Two of them have words of their own for `resume` and `mcp`.
        if (isShared && !['--help', '--max-credits', '--into'].includes(option))
          expect(wordsOf(topic)).toContain(wordsOf(explained.get(option) ?? explainedIn(topic).get(option)));
        if (named.includes(option)) expect([...explainedIn(topic).keys()]).toContain(option);
      }
    }
  });

  it('has the exit codes of its command, each on a line, in the words of the topic', () => {
    for (const help of helps.values())
      for (const line of help
        .split(/\nExit codes .*:\n/)[1]
        ?.split('\n\n')[0]
        ?.trimEnd()
        .split('\n') ?? [])
        expect(meanings).toContain(line.trim());
  });

  it('fits a screen of 60 lines', () => {
    const lines = [...helps].map(([name, help]) => ({ name, lines: help.trimEnd().split('\n').length }));
    expect(lines.filter((one) => one.lines > 60)).toEqual([]);
  });

  it('fits 80 columns', () => {
    expect(widerThan(80, [...helps.values()].join('\n'))).toEqual([]);
  });

  it.each(['search --help', 'contact --help', 'help environment'])(
    'fits a terminal of 60 columns, without its command lines: %s',
    async (line) => {
      const { stdout } = await runInProcess(line, { stdoutIsTerminal: true, columns: 60 });
      expect(widerThan(60, stdout.split('\nExamples:')[0] ?? '')).toEqual([]);
    },
  );

  it.each([
    ['task run', ['help task run', 'task help run', 'task run -h']],
    ['', ['help', '', '-h']],
    ['task', ['task']],
  ])('of %j is the same after `help`, in front of the command or of its subcommand', async (name, lines) => {
    for (const line of lines) expect((await runInProcess(line)).stdout).toBe(helps.get(name));
  });

  it('equals its stored copy, and is printed from there', async () => {
    const topics = topicNames.map(async (name) => {
      return [`help ${name}`, (await runInProcess(`help ${name}`)).stdout] as const;
    });
    const stored = JSON.parse(readFileSync(join(dirname(command), '../dist/help.json'), 'utf8'));
    expect(stored).toEqual(Object.fromEntries([...helps, ...(await Promise.all(topics))]));
    for (const [line, name] of [
      ['', ''],
      ['-h', ''],
      ['help', ''],
      ['help task run', 'task run'],
      ['task run --help', 'task run'],
      ['help money', 'help money'],
    ] as const) {
      expect(await run(line)).toEqual({ code: 0, stdout: stored[name], stderr: '' });
    }
    // Names that every object has are not commands.
    expect((await run('constructor --help')).stderr).toContain('unknown command "constructor"');
  });

  it.skipIf(process.platform === 'win32')('whose reader went away ends as anything does', async () => {
    const child = start('--help');
    child.stdout.destroy();
    expect((await resultOf(child)).code).toBe(exitCodes.reader_closed.code);
  });
});

/** Exit codes of signals, which are not tested here. */
const signals = [129, 130, 141, 143];
/** Commands with `;` between them: the codes that are provoked here, and `+` the others of their help. */
const kinds = Object.entries({
  'auth status': 'call + 0',
  'balance --require 50': 'call 5 + 0',
  'task status ls_1': 'call 6 + 0',
  'task fetch ls_1': 'call 6 + 0 3 7',
  [answerKindRows.map(({ line }) => line).join('; ')]: 'call 5 8 + 0 3 7',
  'search company x': 'call 5 8 + 0 3 7',
  'task create company x': 'call 5 8 + 0',
  'task run company x': 'call 5 8 + 0 3 6 7',
  'config list; auth list; history prune; history totals': '0 2 74 78',
  // The others are those of --refresh.
  'task list': '0 2 74 78 + 4 9 75 76',
  'history drop op_1': '2 6 + 0 74 75 78',
  'history list; history lists': '0 2 74 78 + 6',
  'config set format csv; config unset format; auth logout; auth switch work; auth remove work':
    '0 2 78 + 74 75',
  'config get base_url': '0 2 6 78',
  'history show op_1': '2 6 + 0 3 74 78',
  doctor: 'call 5 + 0',
}).flatMap(([lines, codes]) => {
  const [provoked = [], others = []] = codes
    .replace('call', '2 4 9 74 75 76 78')
    .split('+')
    .map((some) => some.trim().split(' ').map(Number));
  return lines.split('; ').map((line) => ({ line, provoked, others }));
});
/** Commands that need a cut operation, a person or minutes, or have no such exit codes. */
const unprovoked = 'auth login,completion,config path,man,mcp,resume,serve,skill,task wait'.split(',');

/** The words that name the command, without its arguments. */
function nameOf(line: string): string {
  const words = line.split(' ');
  return words.filter((_, nth) => helps.has(words.slice(0, nth + 1).join(' '))).join(' ');
}

it('the exit codes of every command are tested', () => {
  const leaves = [...helps].filter(([, help]) => namesIn(help).length === 0).map(([name]) => name);
  const held = [...kinds.map(({ line }) => nameOf(line)), ...unprovoked];
  const where =
    'Add the command to `kinds` in test/cli/help.test.ts, to the row that has the exit codes of its help';
  expect(held.toSorted(), where).toEqual(leaves.toSorted());
});

describe('the exit codes in the help', () => {
  const statuses = [
    ...['401 authentication_error', '403 authentication_error', '422 invalid_request_error'],
    ...['429 concurrency_limit', '500 internal_error', '503 service_unavailable'],
  ];
  /** Those that the document has for some requests only. */
  const further = { 5: '402 insufficient_credits', 6: '404 not_found', 8: '409 idempotency_error' };

  it.each(kinds)('are those that `$line` comes to', async ({ line, provoked, others }) => {
    const name = nameOf(line);
    const help = helps.get(name) ?? '';
    const listed = described.get(name)?.exit_codes.map(({ code }) => code) ?? [];
    let answer = '';
    const service = await machineWith((socket) => void socket.end(answer));
    const codes = new Set([0]);
    /** Of someone who has nothing yet but, perhaps, the service. */
    const attempt = async (more = '', { url = service.url, config = '' } = {}): Promise<void> => {
      const { env, leadpipe } = createMachine(url);
      if (config !== '') writeConfig(env, config);
      codes.add((await leadpipe(`${line} ${more}`)).code ?? -1);
    };
    const own = Object.entries(further).flatMap(([exit, row]) =>
      provoked.includes(Number(exit)) && name !== 'balance' ? [row] : [],
    );
    for (const row of [...statuses, ...own]) {
      const [status = '', type = ''] = row.split(' ');
      answer = errorAnswer(`${status} X`, type, 'provoked', ['Connection: close']);
      await attempt();
    }
    answer = wholeAnswer('302 Found', 'text/html', '', ['Location: /elsewhere', 'Connection: close']);
    await attempt();
    answer = jsonAnswer(creditBalance(1), ['Connection: close']);
    if (name === 'balance') await attempt();
    await service.close();
    await attempt();
    await attempt('', { url: '' });
    await attempt('--no-such-option');
    await attempt('', { url: '', config: '[1]' });
    if (help.includes('--output')) await attempt('-o nowhere/x.csv');
    const sorted = (some: Iterable<number>) => [...new Set(some)].sort((a, b) => a - b);
    expect(sorted(codes)).toEqual(sorted([...provoked, 0]));
    expect(listed.filter((code) => !signals.includes(code))).toEqual(sorted([...provoked, ...others]));
    expect(listed).toEqual(expect.arrayContaining([129, 130, 143, ...codesIn(help)]));
  });
});

describe('the examples', () => {
  /** They need what is not here: an account, somebody who types, another program, or minutes. */
  const elsewhere = /^(?:auth(?: (?!list).*)?|doctor|man|mcp|serve)$/;
  const folder = temporaryFolder();

  beforeAll(() => {
    writeFileSync(join(folder, 'leadpipe'), `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`);
    chmodSync(join(folder, 'leadpipe'), 0o755);
  });

  /** Stops at the first failure. Settings and operations are those of the user whose home it is. */
  function runInShell(script: string, home = folder): Promise<Result> {
    return new Promise((resolve) => {
      const env = { ...bareEnvironment(home), PATH: `${folder}:${process.env.PATH}` };
      const child = execFile(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', script],
        { env, cwd: temporaryFolder() },
        (_, stdout, stderr) => resolve({ stdout, stderr, code: child.exitCode }),
      );
      child.stdin?.end();
    });
  }

  it.skipIf(!needs('bash', 'jq'))(
    'run as they stand, those of a command one after the other',
    async () => {
      await runInShell('leadpipe contact email "CTO of Nordlicht Pay" --local');
      await runInShell('leadpipe config set timeout.idle 60 --profile work');
      await runInShell('leadpipe config set base_url https://api.example');
      const rows = [...helps].filter(([name]) => !elsewhere.test(name));
      const results = rows.map(async ([name, help]) => {
        // A home for each: what one leaves unfinished is not for another to resume.
        const home = temporaryFolder();
        cpSync(folder, home, { recursive: true });
        const { code, stderr } = await runInShell(examplesIn(help).join('\n'), home);
        return { name, code, stderr: code === 0 ? '' : stderr };
      });
      const expected = rows.map(([name]) => ({ name, code: 0, stderr: '' }));
      expect(await Promise.all(results)).toEqual(expected);
    },
    120_000,
  );
});

describe('a topic of help', () => {
  const topics: readonly (readonly [name: string, says: readonly string[]])[] = [
    ['environment', ['LEADPIPE_API_KEY', 'NODE_EXTRA_CA_CERTS', 'TZ', 'LEADPIPE_STATE_DIR']],
    ['exit-codes', Object.values(exitCodes).map(({ code, meaning }) => `${code}  ${meaning.slice(0, 30)}`)],
    ['formats', [...formats, '--json-errors', 'ISO 8601', '2^53']],
    ['options', ['--concurrency', '--max-credits', '-o, --output', '--json-errors']],
    ['money', ['--max-credits', 'charged: maybe', 'price.contact.email', 'history totals']],
  ];
  it.each(topics)('%s is a screen that fits 80 columns, and needs no settings', async (name, says) => {
    const { code, stdout, stderr } = await at.leadpipe(`help ${name}`, { env: withConfigFile('[1]') });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toSay(...says);
    expect(widerThan(80, stdout)).toEqual([]);
    // These two are looked up, and not read.
    if (name !== 'options' && name !== 'formats') expect(stdout.split('\n').length).toBeLessThan(62);
    expect(helps.get('')).toContain(`help ${name}`);
    expect(at.connections()).toBe(0);
  });

  it('formats has a schema that real errors of every sort fit', async () => {
    const { stdout } = await runInProcess('help formats');
    const [schema] = (stdout.match(/^ {2}\{$[\s\S]*?^ {2}\}$/gm) ?? []).map((text) => JSON.parse(text));
    const check = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema);
    const refused = (status: string, type: string): string =>
      errorAnswer(status, type, 'no', ['X-Request-Id: req_1', 'Connection: close']);
    const cut = streamStart(searchFrames([['{"name":"A"}']]).slice(0, 1));
    for (const [exit, line, answer] of [
      [2, 'search planet x', ''],
      [2, 'balance --no-such-option', ''],
      [3, 'search company x', cut],
      [4, 'contact email x', refused('401 Unauthorized', 'authentication_error')],
      [5, 'contact email x', refused('402 Payment Required', 'insufficient_credits')],
      [6, 'history show op_1', ''],
      [8, 'contact email x', ''],
      [9, 'contact email x', refused('503 Service Unavailable', 'service_unavailable')],
      [74, 'contact email x -o nowhere/x.csv', ''],
      [76, 'balance', wholeAnswer('200 OK', 'text/html', '', ['Connection: close'])],
      [78, 'balance --profile nope', ''],
    ] as const) {
      const { code, stderr } = await (await machineWith(answer)).leadpipe(`${line} --json-errors`);
      const { error } = JSON.parse(stderr);
      expect({ line, code, exit: error.exit }).toEqual({ line, code: exit, exit });
      check({ error });
      expect({ line, errors: check.errors }).toEqual({ line, errors: null });
      // Nothing is there that the schema does not tell of.
      expect(Object.keys(error)).toEqual(Object.keys(schema.properties.error.properties));
      check({ error: { ...error, exit: 99, hint: 1 } });
      expect(check.errors).toHaveLength(2);
    }
  });
});
