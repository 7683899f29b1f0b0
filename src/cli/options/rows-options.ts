import { extname } from 'node:path';
import { Option } from 'commander';
import { UsageError } from '../../errors.ts';
import { type RecordFormat, recordFormats } from '../../files/reading.ts';
import type { Shard } from '../../operations/kinds/list-rows.ts';
import { clip } from '../../requests/closed-list.ts';
import { groups } from '../help.ts';
import { withFacts } from './facts.ts';
import { checkFileName, isInput } from './inputs.ts';
import { choice, numberIn, once, option, under } from './option-builders.ts';

export interface RowsOptions {
  readonly input?: string;
  readonly inputFormat?: RecordFormat;
  readonly sheet?: string;
  readonly table?: string;
  readonly headerRow?: number;
  readonly template?: string;
  readonly into?: string;
  readonly onlyMissing?: true;
  readonly first?: number;
  readonly concurrency?: number;
  readonly errors?: string;
  readonly retryUnknown?: true;
  readonly run?: string;
  readonly shard?: string;
}

/** Pure: the remark about `--input` in a help. `column` is the name of the text's column, `byDefault` what is sent without it. */
export function toRowsRemark(column: string, byDefault = ''): string {
  return `With --input, the output has each row with its answer, or the reason in <into>_error. leadpipe sends the column \`${column}\`, or --template.${byDefault}`;
}

/** The default text for a row with columns that identify it. */
export const identityByDefault =
  ' Without both, it sends the columns that identify a row: "Ada Example, CTO, Acme".';

export const retryUnknownOption = new Option(
  '--retry-unknown',
  'buy again the rows whose answer was lost; some may be charged twice',
);

const onlyMissingOption = withFacts(
  new Option('--only-missing', 'buy only rows without an answer, and fill them in'),
  { common: true },
);

export const firstOption = option(
  '--first <n>',
  'buy only the first n rows; resume buys the rest',
  numberIn({ unit: 'number', min: 1, max: Number.MAX_SAFE_INTEGER }),
  { common: true },
);

export const defaultConcurrency = 4;

/** The options for working through a list. `into` is where answers go by default. */
export function createRowsOptions(into?: string): readonly Option[] {
  const input = option(
    '--input <file>',
    'one request for each row: CSV, JSON, a workbook, a database, plain lines (- reads stdin)',
    once('--input', (name) => (isInput(name) ? '-' : checkFileName('--input', name))),
    { common: true },
  );
  const intoOption = option(
    '--into <name>',
    'the name of the columns for the answer in the output',
    checkInto,
    into === undefined ? {} : { defaultText: into },
  );
  return under(groups.list, [
    input,
    choice('--input-format <format>', 'the format of the input', 'input format', recordFormats, undefined, {
      defaultText: 'from its content',
    }),
    withFacts(new Option('--sheet <name>', 'a sheet of a workbook, by name or number'), {
      defaultText: 'the first with a table',
    }),
    new Option('--table <name>', 'an array of JSON, or a table of a database'),
    option(
      '--header-row <n>',
      'the line of the column names; 0 if there are none',
      numberIn({ unit: 'number', min: 0, max: 1_000_000 }),
    ),
    new Option('--template <text>', 'what to send for a row: "{name}, {links.website}"'),
    ...(into === undefined ? [] : [intoOption, onlyMissingOption]),
    firstOption,
    option(
      '--concurrency <n>',
      'at most this many requests at the same time',
      numberIn({ unit: 'number', min: 1, max: 256 }),
      { default: defaultConcurrency },
    ),
    option(
      '--errors <file>',
      'write failed rows here, with the reason, request ID and charge (.csv or .jsonl)',
      checkErrorsName,
    ),
    retryUnknownOption,
    option(
      '--run <name>',
      'a name for this run: each row is bought only once, on all machines together',
      checkRun,
    ),
    new Option(
      '--shard <i/n>',
      'only one part of the rows, such as 0/4 to 3/4 on four machines; auto: from Kubernetes or Slurm',
    ),
  ]);
}

/** The options that a later run of a list needs, to read the same rows and to print them in the same form. */
export const listTerms = [
  'inputFormat',
  'sheet',
  'table',
  'headerRow',
  'into',
  'onlyMissing',
  'errors',
  'run',
  'shard',
] as const satisfies readonly (keyof RowsOptions)[];

/** The source of the texts to send. */
export type Source = { readonly input: string } | { readonly argument: string };

/** Pure: the source of the texts: --input or the argument. Throws UsageError for both, or neither. */
export function sourceOf(options: RowsOptions, argument: string | undefined, name: string): Source {
  const { input } = options;
  if (input === undefined) {
    checkWithoutRows(options);
    if (argument !== undefined) return { argument };
    throw new UsageError(
      `the ${name} is missing`,
      'Write it in quotes after the command, or name a file with many: --input <file>.',
    );
  }
  if (argument === undefined) return { input };
  throw new UsageError(`with --input, the ${name} of each row comes from the file: leave out the argument`);
}

/** Throws UsageError for options that only make sense with rows. */
function checkWithoutRows(options: RowsOptions): void {
  const given = createRowsOptions('').find(
    (one) => options[one.attributeName() as keyof RowsOptions] !== undefined,
  );
  if (given === undefined) return;
  throw new UsageError(
    `${given.long} works only with --input`,
    'Give the list: --input <file>, or - for standard input.',
  );
}

const shardHint = 'For example: 0/4, 1/4, 2/4 and 3/4 on four machines.';

/** Pure: parses --shard. `auto` reads the environment of a job array. Throws UsageError. */
export function toShard(given: string, env: Readonly<Record<string, string | undefined>>): Shard {
  const [, which, count] = /^(auto|\d{1,6})(?:\/(\d{1,6}))?$/.exec(given) ?? [];
  if (which === 'auto') return toOwnShard(count, env);
  const [index, of] = [Number(which ?? Number.NaN), Number(count ?? Number.NaN)];
  if (of < 1 || !(index <= of)) {
    throw new UsageError(`--shard must be i/n or auto, not "${given.slice(0, 40)}"`, shardHint);
  }
  // n/n is the part with the remainder 0.
  return { index: index % of, of };
}

/** This machine's part in a Kubernetes job or a Slurm array. */
function toOwnShard(count: string | undefined, env: Readonly<Record<string, string | undefined>>): Shard {
  const read = (name: string, fallback?: string): number => {
    const value = env[name] ?? fallback;
    if (value !== undefined && /^\d{1,9}$/.test(value)) return Number(value);
    throw new UsageError(
      `--shard auto: ${name} is ${value ? `"${value.slice(0, 40)}"` : value === '' ? 'empty' : 'not set'}`,
      'auto works in indexed jobs of Kubernetes and in arrays of Slurm. Elsewhere, use --shard i/n, for example 0/4.',
    );
  };
  const isSlurm = env.JOB_COMPLETION_INDEX === undefined && env.SLURM_ARRAY_TASK_ID !== undefined;
  const name = isSlurm ? 'SLURM_ARRAY_TASK_ID' : 'JOB_COMPLETION_INDEX';
  const id = read(name);
  if (!isSlurm && count === undefined) {
    throw new UsageError(
      '--shard auto: Kubernetes does not say how many pods there are',
      'Add the number of completions, for example: --shard auto/8',
    );
  }
  const [first, step] = isSlurm
    ? [read('SLURM_ARRAY_TASK_MIN', '0'), read('SLURM_ARRAY_TASK_STEP', '1')]
    : [0, 1];
  const of = count === undefined ? read('SLURM_ARRAY_TASK_COUNT') : Number(count);
  const index = (id - first) / step;
  if (Number.isInteger(index) && index >= 0 && index < of) return { index, of };
  const from = `${name}=${id}${isSlurm ? `, the first is ${first} and the step ${step}` : ''}`;
  throw new UsageError(`--shard auto: ${from}: not one of the ${of} parts`, shardHint);
}

function checkErrorsName(name: string): string {
  const extension = extname(checkFileName('--errors', name)).toLowerCase();
  if (['', '.csv', '.jsonl', '.ndjson'].includes(extension)) return name;
  throw new UsageError(`--errors: unknown extension ${clip(extension)}`, 'Name a .csv or .jsonl file.');
}

function checkInto(name: string): string {
  if (/^[\p{L}\p{M}\p{N}_ .()-]{1,64}$/u.test(name)) return name;
  throw new UsageError(
    '--into must be a name of at most 64 letters, digits, spaces, and the characters _ - . ( )',
  );
}

function checkRun(name: string): string {
  if (/^[\w.:@/-]{1,100}$/.test(name)) return name;
  throw new UsageError('--run must be a name of at most 100 letters, digits, and the characters . : @ / _ -');
}
