import { extname } from 'node:path';
import { type Command, Option } from 'commander';
import { UsageError } from '../../errors.ts';
import { type InputFormat, inputFormats } from '../../input/rows.ts';
import { checkOneOf, clip } from '../../requests/closed-list.ts';
import { checkNumber } from '../../requests/within-limits.ts';
import { checkFileName } from './inputs.ts';

/** Options of a command that can work through a list. */
export interface RowsOptions {
  readonly input?: string;
  readonly inputFormat?: InputFormat;
  readonly template?: string;
  readonly into?: string;
  readonly concurrency: number;
  readonly unordered?: true;
  readonly onError: 'continue' | 'stop';
  readonly errors?: string;
  readonly retryUnknown?: true;
  readonly run?: string;
  readonly shard?: string;
}

const listGroup = 'Many at once:';

/** What the help of a command says of `--input`. */
export const rowsRemark =
  'With --input, each row of the output is a row of the input with the answer beside it, and <into>_error where there is none. What is sent is the column named as the argument of this command, or --template; leads of a search say it by themselves. After a crash or failed rows, the same command again goes on and buys nothing twice; a list that has come to its end is bought again, unless the run has a name (--run).';

const mostAtOnce = { unit: 'number', min: 1, max: 256 } as const;
const onErrors = ['continue', 'stop'] as const;

/** Adds what it takes to work through a list; `into` is where answers go when it is not said. */
export function addRowsOptions(command: Command, into: string | undefined): Command {
  const options = [
    new Option(
      '--input <file>',
      'a request for each row of a file (CSV, JSONL or lines); - for stdin',
    ).argParser((name) => (name === '-' ? name : checkFileName('--input', name))),
    new Option('--input-format <format>', 'of the input; by its extension or its content when not given')
      .choices(inputFormats)
      .argParser((value) => checkOneOf('input format', value, inputFormats)),
    new Option('--template <text>', 'what is sent for a row, such as "{name}, {links.website}"'),
    ...(into === undefined
      ? []
      : [
          new Option('--into <name>', `where the answer of a row goes (default ${into})`).argParser(
            checkInto,
          ),
        ]),
    new Option('--concurrency <n>', 'requests at once; fewer while the service says that it is too many')
      .default(4)
      .argParser((value) => checkNumber(mostAtOnce, '--concurrency', value)),
    new Option('--unordered', 'write rows as they are done, not in the order of the input'),
    new Option('--on-error <what>', 'after a failed row: continue or stop')
      .choices(onErrors)
      .default('continue')
      .argParser((value) => checkOneOf('way', value, onErrors)),
    new Option(
      '--errors <file>',
      'failed rows, with the reason, request ID and charge (.csv or .jsonl)',
    ).argParser(checkErrorsName),
    new Option('--retry-unknown', 'buy rows again whose answer was lost, though they may have been charged'),
    new Option('--run <name>', 'name of this run: its rows are bought once, on whichever machine').argParser(
      checkRun,
    ),
    new Option('--shard <i/n>', 'only the rows whose number is i modulo n; auto in an array of jobs'),
  ];
  for (const option of options) command.addOption(option.helpGroup(listGroup));
  return command;
}

/** The rows whose number is `index` modulo `of`. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** Pure: the part of the list that is meant. `auto` asks the environment of a job array. Throws UsageError. */
export function toShard(given: string, env: Readonly<Record<string, string | undefined>>): Shard {
  const [, which = '', count] = /^(auto|\d{1,6})(?:\/(\d{1,6}))?$/.exec(given) ?? [];
  const own = env.JOB_COMPLETION_INDEX ?? env.SLURM_ARRAY_TASK_ID;
  const index = Number(which === 'auto' ? (own ?? Number.NaN) : which || Number.NaN);
  const of = Number(count ?? (which === 'auto' ? env.SLURM_ARRAY_TASK_COUNT : undefined) ?? Number.NaN);
  if (which === 'auto' && Number.isNaN(index)) {
    throw new UsageError(
      '--shard auto: neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID is set',
      'It is for jobs of Kubernetes and Slurm; elsewhere give --shard i/n, such as 0/4.',
    );
  }
  if (which === 'auto' && Number.isNaN(of)) {
    throw new UsageError('--shard auto: how many jobs there are is not known', 'Say it: --shard auto/8.');
  }
  if (!Number.isInteger(index) || !Number.isInteger(of) || of < 1 || index > of) {
    throw new UsageError(
      `--shard takes i/n or auto, not "${given.slice(0, 40)}"`,
      'Such as 0/4, 1/4, 2/4 and 3/4.',
    );
  }
  return { index, of };
}

function checkErrorsName(name: string): string {
  const extension = extname(checkFileName('--errors', name)).toLowerCase();
  if (['', '.csv', '.jsonl', '.ndjson'].includes(extension)) return name;
  throw new UsageError(
    `--errors: the extension ${clip(extension)} is not known here`,
    'Name a .csv or .jsonl file.',
  );
}

function checkInto(name: string): string {
  if (/^[\w -]{1,64}$/.test(name)) return name;
  throw new UsageError('--into takes a name of letters, digits, spaces, _ and -');
}

function checkRun(name: string): string {
  if (/^[\w.:@/-]{1,100}$/.test(name)) return name;
  throw new UsageError('--run takes a name of up to 100 letters, digits, and . : @ / _ -');
}
