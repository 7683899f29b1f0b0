import { UsageError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import type { ArgumentSchema, ToolDefinition } from './tools.ts';

/** The arguments of a call, of the types that the tool names. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Pure: the arguments of a call, with what is left out filled in. The limits of the service are checked with the request, where
 * they have their own messages. Throws UsageError, also for a name that the tool does not know: a misspelt limit would be paid
 * for.
 */
export function checkArguments({ name, inputSchema }: ToolDefinition, given: unknown): Arguments {
  if (given !== undefined && !isObject(given))
    throw new UsageError(`the arguments of ${name} must be an object`);
  const { properties, required = [] } = inputSchema;
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
  for (const [argument, { default: usual }] of Object.entries(properties)) {
    if (usual !== undefined) checked[argument] ??= usual;
  }
  return checked;
}

function checkValue(name: string, schema: ArgumentSchema, value: unknown): unknown {
  if (!isOfType(schema, value)) throw new UsageError(`${name} takes ${kinds[schema.type]}`);
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  if (typeof value === 'number' && minimum !== undefined && value < minimum) {
    throw new UsageError(`${name} is ${value}: it takes ${minimum} or more`);
  }
  if (typeof value === 'number' && maximum !== undefined && value > maximum) {
    throw new UsageError(`${name} is ${value}: it takes up to ${maximum}`);
  }
  return value;
}

const kinds = {
  string: 'a text',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list of texts',
  object: 'an object',
} as const;

function isOfType({ type }: ArgumentSchema, value: unknown): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'integer':
      return Number.isSafeInteger(value);
    case 'array':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'object':
      return isObject(value);
  }
}
