import type { Argument } from 'commander';

type ValuesAfter = (before: readonly string[]) => readonly string[];

const known = new WeakMap<Argument, ValuesAfter>();

/** An argument whose values depend on those before it: the value of a setting. */
export function withValuesAfter(argument: Argument, values: ValuesAfter): Argument {
  known.set(argument, values);
  return argument;
}

export function valuesAfter(argument: Argument): ValuesAfter | undefined {
  return known.get(argument);
}
