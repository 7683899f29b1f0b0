import { UsageError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import type { Arguments, Schema, Tool } from './tool.ts';

/**
 * Pure: the arguments of a call, with what is left out filled in; `rows` can stand for the one called `row`. The limits of the
 * service are checked with the request, where they have their own messages. Throws UsageError, also for a name that the tool does
 * not know: a misspelt limit would be paid for.
 */
export function checkArguments({ definition: { name, inputSchema }, buys }: Tool, given: unknown): Arguments {
  if (given !== undefined && !isObject(given))
    throw new UsageError(`the arguments of ${name} must be an object`);
  const { properties, required = [] } = inputSchema;
  const row = buys?.row;
  const checked: Record<string, unknown> = {};
  for (const [argument, value] of Object.entries(given ?? {})) {
    const schema = Object.hasOwn(properties, argument) ? properties[argument] : undefined;
    if (schema === undefined) {
      throw new UsageError(
        `${name} has no argument ${argument.slice(0, 100)}`,
        `It takes ${Object.keys(properties).join(', ') || 'none'}.`,
      );
    }
    // Some clients send null for what is left out. For a number it could be meant as none, and would be the usual one.
    const isLeftOut = value === undefined || (value === null && schema.type !== 'integer');
    if (!isLeftOut) checked[argument] = checkValue(argument, schema, value);
  }
  for (const argument of required) {
    if (checked[argument] === undefined) throw new UsageError(`${name} needs the argument ${argument}`);
  }
  if (row !== undefined && (checked[row] === undefined) === (checked.rows === undefined)) {
    throw new UsageError(`${name} takes either ${row} or rows`);
  }
  for (const [argument, { default: usual }] of Object.entries(properties)) {
    if (usual !== undefined) checked[argument] ??= usual;
  }
  return checked;
}

const types: Readonly<Record<Schema['type'], readonly [what: string, isOne: (value: unknown) => boolean]>> = {
  string: ['a text', isText],
  integer: ['a whole number', Number.isSafeInteger],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  array: ['a list of texts', (value) => Array.isArray(value) && value.every(isText)],
  object: ['an object', isObject],
};

function checkValue(name: string, schema: Schema, value: unknown): unknown {
  const [what, isOne] = types[schema.type];
  if (!isOne(value)) throw new UsageError(`${name} takes ${what}`);
  const { minimum = -Infinity, maximum = Infinity, maxItems = Infinity } = schema as Bounds;
  if (typeof value === 'number' && value < minimum)
    throw new UsageError(`${name} is ${value}: it takes ${minimum} or more`);
  if (typeof value === 'number' && value > maximum)
    throw new UsageError(`${name} is ${value}: it takes up to ${maximum}`);
  // How many texts a request may have is said with the request.
  if (name === 'rows' && Array.isArray(value) && (value.length === 0 || value.length > maxItems))
    throw new UsageError(`rows has ${value.length} texts: it takes 1 to ${maxItems}`);
  return value;
}

type Bounds = Partial<Record<'minimum' | 'maximum' | 'maxItems', number>>;

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
