import { runInNewContext } from 'node:vm';
import type { ErrorObject, Options } from 'ajv';
import { UsageError } from '../errors.ts';
import { listed } from './closed-list.ts';
import type { EnrichSchema } from './enrich-schema.ts';

const draft2020 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
const draft07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

/** How long the check of an answer may take: a pattern can take forever, and the answer is paid for. */
const checkMs = 1000;
const maxDeviations = 5;

/**
 * Checks that a schema is valid JSON Schema: draft 2020-12, or draft-07 if its `$schema` says so. Everything that it refers to must be in
 * it, since nothing is fetched. Unknown formats and keywords are ignored. Throws UsageError.
 */
export async function checkJsonSchema({ $schema, $async: _, ...schema }: EnrichSchema) {
  // Without $async, which would make the validator asynchronous: the check would end too late.
  const ajv = await createValidator($schema);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    if (!ajv.validateSchema(schema)) throw toSchemaError(ajv.errors ?? []);
    validate = ajv.compile(schema);
  } catch (error) {
    throw error instanceof UsageError ? error : toCompileError(error);
  }
  return {
    /** A sentence for each place where an answer does not follow the schema. */
    deviations(value: unknown): readonly string[] {
      try {
        const follows = runInNewContext('check()', { check: () => validate(value) }, { timeout: checkMs });
        return follows ? [] : toDeviations(validate.errors ?? []);
      } catch {
        return [`the answer could not be checked against the schema within ${checkMs / 1000} s`];
      }
    },
  };
}

async function createValidator($schema: unknown) {
  const dialect = typeof $schema === 'string' ? $schema : '';
  if ($schema === undefined || draft2020.test(dialect)) {
    const { default: ajv } = await import('ajv/dist/2020.js');
    return new ajv.Ajv2020(validatorOptions);
  }
  if (draft07.test(dialect)) {
    const { default: ajv } = await import('ajv');
    return new ajv.Ajv(validatorOptions);
  }
  throw new UsageError(
    `the schema has an unknown version ($schema: ${JSON.stringify($schema).slice(0, 100)})`,
    'leadpipe knows draft 2020-12 and draft-07. Without $schema, a schema is read as draft 2020-12.',
  );
}

const validatorOptions: Options = {
  allErrors: true,
  // Adds the wrong value to each error.
  verbose: true,
  strict: false,
  validateFormats: false,
  logger: false,
  code: { regExp: Object.assign(toPattern, { code: 'new RegExp' }) },
};

/** The specification says that patterns are Unicode, but many are only valid without the `u` flag. */
function toPattern(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

function toSchemaError([first]: readonly ErrorObject[]): UsageError {
  return new UsageError(
    `the schema is not valid JSON Schema${first === undefined ? '' : `: ${toText(first, 'the schema')}`}`,
  );
}

function toCompileError(error: unknown): UsageError {
  const { message, missingRef } = error as Error & { missingRef?: string };
  if (missingRef === undefined) return new UsageError(`the schema can't be used: ${message.slice(0, 300)}`);
  return new UsageError(
    `the schema refers to ${missingRef.slice(0, 300)}, which it does not contain`,
    'leadpipe fetches no other schemas: put that part under $defs.',
  );
}

function toDeviations(errors: readonly ErrorObject[]): string[] {
  // A service may write null for a value that it did not find. This gets one sentence, whatever the schema says.
  const lineOf = (error: ErrorObject): string =>
    error.data === null && error.instancePath !== ''
      ? `no value for "${nameOf(error)}" (null)`
      : toText(error, 'it');
  const lines = [...new Set(errors.map(lineOf))];
  const more = lines.length - maxDeviations;
  const shown = more > 0 ? [...lines.slice(0, maxDeviations), `${more} more places do not fit`] : lines;
  return shown.map((line) => `the answer does not follow the schema: ${line}`);
}

function toText(error: ErrorObject, whole: string): string {
  const { instancePath, message, params } = error;
  const allowed: unknown = params.allowedValues ?? params.allowedValue ?? params.additionalProperty;
  const values = allowed === undefined ? '' : ` (${listed([allowed].flat().map(toValueText), 200)})`;
  return `${instancePath === '' ? whole : `"${nameOf(error)}"`} ${message}${values}`;
}

/** Turns the JSON pointer `/a/b` into `a/b`. */
function nameOf({ instancePath }: ErrorObject): string {
  return instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 200);
}

/** The value may be an object, which String() can't show. */
function toValueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
