import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { fromCheckedLine } from '../../src/files/line-log.ts';
import { type AnswerKindRow, answerKinds } from '../helpers/answer-kinds.ts';
import { commandsWith } from '../helpers/commands.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, type Result, run, temporaryFolder } from '../helpers/run.ts';
import { toWords } from '../helpers/words.ts';

/** Values that no field should have, as JSON text that is sent unchanged. */
const oddValues: readonly (readonly [name: string, text: string])[] = [
  ['null', 'null'],
  ['true', 'true'],
  ['false', 'false'],
  ['a number below 0', '-1'],
  ['half of one', '0.5'],
  ['a number that is too large', '1e400'],
  ['a number that would be rounded', '12345678901234567890'],
  ['an empty string', '""'],
  ['a word', '"many"'],
  ['a long string', `"${'long '.repeat(20_000)}"`],
  ['half of a surrogate pair and controls', '"\\ud800 \\u0000\\u001b[31m\\u202e\\r\\n"'],
  ['an empty list', '[]'],
  ['a list of everything', '[null,1,"x",[],{}]'],
  ['an empty object', '{}'],
  ['an object with a member toString', '{"toString":1,"message":{"toString":null},"__proto__":[]}'],
  ['20,000 levels of lists', '['.repeat(20_000) + ']'.repeat(20_000)],
  ['20,000 levels of objects', `${'{"toString":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
];

interface Operation {
  readonly args: readonly string[];
  /** Answers as they should be; each of their fields is replaced in turn. */
  readonly answers: readonly object[];
  /** Exit codes that the matrix of faults has for it. */
  readonly exits: number[];
  readonly isPaid: boolean;
  /** Whether it prints no answer, but what is in it: perhaps nothing. */
  readonly isList?: boolean;
}

const free = { exits: [0, 76], isPaid: false };

function toOperation({ line, answer, items, withoutResult }: AnswerKindRow): Operation {
  const answers = [answer, ...(withoutResult?.slice(0, 1) ?? [])].map((one) => JSON.parse(one));
  return { args: toWords(line), answers, exits: [0, 7, 8], isPaid: true, isList: items !== undefined };
}

const operations: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(Object.entries(answerKinds).map(([name, row]) => [name, toOperation(row)])),
  balance: {
    ...free,
    args: ['balance'],
    answers: [
      {
        object: 'credit_balance',
        available_credits: 1200,
        updated_at: '2026-01-31 09:00:00',
        next_credit_refresh_at: '2026-02-01 00:00:00',
      },
    ],
  },
  'task create': {
    ...free,
    args: ['task', 'create', 'company', 'fintech'],
    answers: [{ leads_search_id: 'ls_1', status: 'created' }],
  },
  'task status': {
    ...free,
    args: ['task', 'status', 'ls_1'],
    answers: [{ status: { status: 'running', ready_count: 1, verified_count: 2, stop_reason: '' } }],
  },
  'task fetch': {
    ...free,
    args: ['task', 'fetch', 'ls_1'],
    isList: true,
    answers: [
      {
        object: 'entity_search_items',
        leads_search_id: 'ls_1',
        status: 'done',
        pts: 0,
        num: 500,
        count: 1,
        ready_count: 1,
        limit: 10,
        entities: [
          {
            name: 'Acme',
            links: { website: 'https://acme.example' },
            description: 'd',
            score: { score: '0.9', reason: 'r' },
            enrich_fields: { city: { content: 'Berlin', reference: 'https://acme.example' } },
          },
        ],
      },
    ],
  },
};

/** Every pair of a place and a value in every format. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const formats = ['jsonl', 'json', 'csv', 'table', 'md'] as const;
type Format = (typeof formats)[number];

let server: FaultServer;
let body = '';
beforeAll(async () => {
  server = await startFaultServer(
    (socket) => void socket.write(wholeAnswer('200 OK', 'application/json', body)),
  );
});

const marker = '@@';

/** The whole, and each part of it in turn, replaced by the marker. */
function marked(whole: unknown): unknown[] {
  if (typeof whole !== 'object' || whole === null) return [marker];
  const parts = Object.entries(whole).flatMap(([name, part]) =>
    marked(part).map((one) => (Array.isArray(whole) ? [one] : { ...whole, [name]: one })),
  );
  return [marker, ...parts];
}

interface OddAnswer {
  readonly cell: string;
  readonly text: string;
  /** What it is printed in: every value is printed in all of them, but not in every place. */
  readonly shownIn: readonly Format[];
}

/** Every answer with something odd in one place, as text; otherwise each place with every sixth value, the next with others. */
function oddAnswers({ answers }: Operation): OddAnswer[] {
  return answers.flatMap(marked).flatMap((answer, nthPlace) =>
    oddValues.flatMap(([name, value], nthValue) => {
      const nth = nthPlace + nthValue;
      if (!exhaustive && nth % 6 !== 0) return [];
      const place = JSON.stringify(answer);
      const text = place.replace(`"${marker}"`, () => value);
      const shownIn = exhaustive ? formats : formats.slice(nth % 5, (nth % 5) + 1);
      return { cell: `${name} in ${place}`, text, shownIn };
    }),
  );
}

/** Of a user of its own, who has bought nothing. */
function environment(): Record<string, string> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'config'));
  const profile = { 'poll.interval': 0.001 };
  writeFileSync(join(folder, 'config', 'config.json'), JSON.stringify({ profiles: { default: profile } }));
  return { ...bareEnvironment(folder), ...pointedAt(server.url) };
}

/** The answers that are kept, by operation. */
function keptIn(env: Record<string, string>): [operationId: string, text: string][] {
  const folder = join(env.LEADPIPE_STATE_DIR ?? '', 'operations');
  return readdirSync(folder).map((operationId) => {
    const [file = ''] = readdirSync(join(folder, operationId)).filter((name) =>
      /^(received|answer)\./.test(name),
    );
    const text = readFileSync(join(folder, operationId, file), 'utf8');
    // An answer that is understood has a checksum before it.
    return [operationId, fromCheckedLine(text.trimEnd())?.text ?? text];
  });
}

/** What can be said of any output in this format. */
function expectFormat(cell: string, format: Format, { stdout }: Result): void {
  if (format === 'json') JSON.parse(stdout);
  if (format === 'jsonl') for (const line of stdout.split('\n').slice(0, -1)) JSON.parse(line);
  if (format === 'csv') parse(stdout);
  expect({ cell, found: /[^\P{Cc}\r\n]|\u202e/u.exec(stdout) }).toEqual({ cell, found: null });
}

const every = Object.entries(operations);

it('every command that asks the service for records has an answer here', async () => {
  // Streams, what follows a task, and what resumes either have tests of their own.
  const others = ['search', 'task run', 'task wait', 'task list', 'doctor', 'resume'];
  const names = await commandsWith('--format', '--timeout', '--local');
  expect(names.filter((name) => !(name in operations) && !others.includes(name))).toEqual([]);
});

describe('anything in any place of an answer', () => {
  it.each(every.filter(([, { isPaid }]) => isPaid))(
    'of %s is kept as it came, and printed in every format',
    async (_, operation) => {
      const { args, exits, isList } = operation;
      for (const { cell, text, shownIn } of oddAnswers(operation)) {
        body = text;
        const env = environment();
        const bought = await runInProcess([...args, '-f', 'jsonl'], { env });
        const [[operationId, kept] = ['', '']] = keptIn(env);
        const { code } = bought;
        expect({ cell, code, kept }).toEqual({ cell, code: expect.toBeOneOf(exits), kept: text });
        expectFormat(cell, 'jsonl', bought);
        for (const format of code === 8 ? [] : shownIn) {
          const shown = await runInProcess(['history', 'show', operationId, '-f', format], { env });
          expect({ cell, format, code: shown.code }).toEqual({ cell, format, code: 0 });
          expectFormat(cell, format, shown);
          if (!isList) expect(shown.stdout.trim()).not.toBe('');
        }
        rmSync(env.HOME ?? '', { recursive: true });
      }
    },
    300_000,
  );

  it.each(every.filter(([, { isPaid }]) => !isPaid))(
    'of %s is printed in every format, or refused',
    async (_, operation) => {
      const { args, exits } = operation;
      const env = environment();
      for (const { cell, text, shownIn } of oddAnswers(operation)) {
        body = text;
        for (const format of shownIn) {
          const result = await runInProcess([...args, '-f', format], { env });
          const { code } = result;
          expect({ cell, format, code }).toEqual({ cell, format, code: expect.toBeOneOf(exits) });
          if (code === 0) expectFormat(cell, format, result);
        }
      }
    },
    300_000,
  );

  it.each(every)('of %s lets the built command end', async (_, operation) => {
    const { args, exits } = operation;
    const deepest = oddAnswers(operation).filter(({ cell }) => cell.startsWith('20,000 levels of objects'));
    body = deepest.at(-1)?.text ?? '';
    expect(body).not.toBe('');
    const nth = every.findIndex(([, one]) => one === operation) % formats.length;
    for (const format of exhaustive ? formats : formats.slice(nth, nth + 1)) {
      const { code, stderr } = await run([...args, '-f', format], { env: environment() });
      expect({ format, code, stderr }).toEqual({ format, code: expect.toBeOneOf(exits), stderr });
    }
  });
});
