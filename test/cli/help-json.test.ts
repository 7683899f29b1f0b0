import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { createProgram } from '../../src/cli/program.ts';
import { settingNames } from '../../src/config/settings.ts';
import type { Context } from '../../src/context.ts';
import { ending } from '../helpers/ending.ts';
import { createMachine } from '../helpers/machine.ts';

interface DescribedOption {
  readonly name: string;
  readonly short: string | null;
  readonly type: string;
  readonly default: unknown;
  readonly values: readonly string[] | null;
  readonly settings: readonly string[];
}

interface Described {
  readonly command: string;
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[];
  readonly options: readonly DescribedOption[];
  readonly exit_codes: readonly { readonly code: number; readonly meaning: string }[];
  readonly output: { readonly columns: readonly string[] | null };
  readonly cost: { readonly free: boolean; readonly settings: readonly string[] } | null;
  readonly commands: readonly Described[];
}

const at = createMachine();
let whole: Described;
let program: Command;
/** Every command that has no commands below it, with what the parser has of it. */
let leaves: (readonly [Described, Command])[];

beforeAll(async () => {
  const { code, stdout, stderr } = await at.run('help --json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  whole = JSON.parse(stdout);
  program = await createProgram({ version: '', stdout: {} } as Context);
  leaves = pairsIn(whole, program).filter(([{ commands }]) => commands.length === 0);
});

/** The described commands with those of the parser, which are the same ones in the same order. */
function pairsIn(described: Described, command: Command): (readonly [Described, Command])[] {
  expect(described.commands.map((one) => one.command)).toEqual(
    command.commands.map((one) => `${described.command} ${one.name()}`),
  );
  const below = described.commands.flatMap((one, nth) => pairsIn(one, command.commands[nth] as Command));
  return [[described, command], ...below];
}

const flagsOf = ({ name, short }: DescribedOption): string[] => (short === null ? [name] : [name, short]);

describe('help --json', () => {
  it('fits the schema that --json-schema prints, whole and in part, and nothing else does', async () => {
    const { stdout } = await at.run('help --json-schema');
    const check = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(
      JSON.parse(stdout),
    );
    check(whole);
    expect(check.errors).toBe(null);
    for (const line of ['help --json task run', 'help task run --json', '-q help --json task run']) {
      const part = JSON.parse((await at.leadpipe(line)).stdout);
      expect(part).toEqual(whole.commands.find((one) => one.command === 'leadpipe task')?.commands[0]);
      expect(check(part)).toBe(true);
      expect(check({ ...part, more: 1 })).toBe(false);
      expect(check({ ...part, options: [{ ...part.options[0], type: 'thing' }] })).toBe(false);
    }
    expect(await at.leadpipe('help --json serch')).toMatchObject(ending(2, 'did you mean search?'));
    expect(await at.leadpipe('help --json --nope')).toMatchObject(ending(2, 'unknown option "--nope"'));
  });

  it('has exactly the options and arguments that the parser takes', () => {
    const all = [...new Set(pairsIn(whole, program).flatMap(([{ options }]) => options.flatMap(flagsOf)))];
    expect(all.length).toBeGreaterThan(50);
    for (const [{ command, options, ...described }, parser] of pairsIn(whole, program)) {
      const own = options.flatMap(flagsOf);
      // Help is printed before the parser refuses anything.
      expect(own).toEqual(expect.arrayContaining(['-h', '--help']));
      const isTaken = (flag: string): boolean => {
        try {
          return !parser.parseOptions([flag, '1']).unknown.includes(flag);
        } catch {
          // Its value was read.
          return true;
        }
      };
      parser.on('option:version', () => {});
      const others = all.filter((flag) => !['-h', '--help', '-V', '--version'].includes(flag));
      const taken = others.filter(isTaken);
      const listed = others.filter((flag) => own.includes(flag));
      expect({ command, taken }).toEqual({ command, taken: listed });
      const known = parser.options.flatMap(({ long, short }) => [long, short].filter(Boolean));
      expect(new Set(own)).toEqual(new Set([...known, '-h', '--help']));
      expect(described.arguments.map(({ name, required }) => ({ name, required }))).toEqual(
        parser.registeredArguments.map((one) => ({ name: one.name(), required: one.required })),
      );
    }
  });

  it('has values as the parser takes them', () => {
    /** Whether the parser takes the value, and what is left of the words. */
    const parse = (parser: Command, ...words: string[]): readonly string[] | 'refused' => {
      try {
        const { operands, unknown } = parser.parseOptions(words);
        return [...operands, ...unknown];
      } catch {
        return 'refused';
      }
    };
    for (const [{ command, options }, parser] of leaves) {
      for (const { name, type, values, default: value } of options.filter((one) => one.name !== '--help')) {
        const where = { command, name };
        if (type === 'boolean') {
          expect({ ...where, left: parse(parser, name, 'x') }).toEqual({ ...where, left: ['x'] });
          continue;
        }
        for (const one of values ?? [])
          expect({ ...where, one, left: parse(parser, name, one) }).toEqual({ ...where, one, left: [] });
        const isNumber = parse(parser, name, 'no') === 'refused' && parse(parser, name, '12') !== 'refused';
        const isWhole = isNumber && parse(parser, name, '1.5') === 'refused';
        const found = { ...where, integer: isWhole, number: isNumber && !isWhole };
        expect(found).toEqual({ ...where, integer: type === 'integer', number: type === 'number' });
        if (values !== null)
          expect({ ...where, left: parse(parser, name, 'no') }).toEqual({ ...where, left: 'refused' });
        if (type === 'list') {
          parse(parser, name, 'city', name, 'name');
          const option = parser.options.find((one) => one.long === name);
          expect(parser.getOptionValue(option?.attributeName() ?? '')).toEqual(
            expect.arrayContaining(['city', 'name']),
          );
        }
        if (value !== null)
          expect({ ...where, left: parse(parser, name, String(value)) }).toEqual({ ...where, left: [] });
      }
    }
    const settings = leaves.flatMap(([{ options }]) => options.flatMap((one) => one.settings));
    expect(settings).toEqual(expect.arrayContaining(['format', 'base_url', 'max_credits']));
    expect(settings.filter((one) => !settingNames.some((name) => name === one))).toEqual([]);
  });

  it('says what is paid and at which prices, how everything ends, and what prints records', () => {
    const codes = Object.values(exitCodes).map(({ code, meaning }) => ({ code, meaning: String(meaning) }));
    for (const [{ command, cost, exit_codes, options, output }] of leaves) {
      const has = (name: string): boolean => options.some((one) => one.name === name);
      const facts = { free: cost?.free, records: output.columns !== null };
      expect({ command, ...facts }).toEqual({
        command,
        free: !has('--max-credits'),
        records: has('--columns'),
      });
      expect(codes).toEqual(expect.arrayContaining([...exit_codes]));
      expect(exit_codes[0]?.code).toBe(0);
    }
    const prices = new Set(leaves.flatMap(([{ cost }]) => cost?.settings ?? []));
    expect([...prices].sort()).toEqual(settingNames.filter((name) => name.startsWith('price.')).sort());
  });

  it.each([
    'search company fintech --limit 1 --local',
    'task create company fintech --limit 1 --local',
    'contact email "CTO of Nordlicht Pay" --local',
    'research fintech --local',
    'balance --local',
    'doctor --local',
    'task list',
    'history list',
    'history lists',
    'history totals --local',
    'history prune',
    'config list',
    'auth list',
  ])('has the columns of `%s`', async (line) => {
    const { stdout } = await at.leadpipe(`${line} -f csv`);
    const named = leaves.filter(([{ command }]) => `leadpipe ${line} `.startsWith(`${command} `));
    expect(named).toHaveLength(1);
    expect(stdout.split('\r\n')[0]?.split(',')).toEqual(named[0]?.[0].output.columns);
  });
});
