import { Argument, Option } from 'commander';
import { type SettingValue, toSettingValue } from '../../config/settings.ts';
import { UsageError } from '../../errors.ts';
import { checkNumber, checkOneOf } from '../../requests/within-limits.ts';
import { type OptionFacts, withFacts } from './facts.ts';
import { checkFileName } from './inputs.ts';

/** An option with a parsed value. The parser also gets the previous value of a repeated option, and its name. */
export function option<Value>(
  flags: string,
  description: string,
  parse: (value: string, before: Value | undefined, name: string) => Value,
  facts: OptionFacts = {},
): Option {
  const made = withFacts(new Option(flags, description), facts);
  return made.argParser((value, before: Value | undefined) => parse(value, before, made.long ?? flags));
}

/** An option with one of these values; for any other, the error names the nearest. `words` maps synonyms to values. */
export function choice(
  flags: string,
  description: string,
  name: string,
  values: readonly string[],
  words?: Readonly<Record<string, string>>,
  facts: OptionFacts = {},
): Option {
  const made = withFacts(new Option(flags, description).choices(values), facts);
  return made.argParser((value) => checkOneOf(name, value, values, words));
}

/** A parser for a whole number in this range. */
export function numberIn(range: Parameters<typeof checkNumber>[0]) {
  return (value: string, _: unknown, name: string): number => checkNumber(range, name, value);
}

/** An argument with choices, for completion. The command checks the value itself, since its error can say more. */
export function argumentOf(flags: string, values: readonly string[]) {
  return new Argument(flags, values.join(', ')).choices(values).argParser((value: string) => value);
}

/** A parser for an option that may be given only once: otherwise the first value would be ignored. */
export function once<Value>(option: string, parse: (value: string) => Value) {
  return (value: string, before: Value | undefined): Value => {
    if (before === undefined) return parse(value);
    throw new UsageError(`${option} is given twice`, 'Give it once.');
  };
}

/** Removes white space around an ID, such as the carriage return of a CSV line. */
export function toId(value: string): string {
  return value.trim();
}

export function toFileName(value: string, _: unknown, name: string): string {
  return checkFileName(name, value);
}

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A parser for seconds, with fractions. */
export function seconds(given: string, _: unknown, name: string): SettingValue {
  return toSettingValue('timeout.idle', given.trim(), name);
}

export function under(heading: string, options: readonly Option[]): readonly Option[] {
  return options.map((option) => option.helpGroup(heading));
}
