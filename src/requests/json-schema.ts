import { runInNewContext } from 'node:vm';
import type { ErrorObject, Options } from 'ajv';
import { UsageError } from '../errors.ts';
import type { EnrichSchema } from './enrich-schema.ts';

/** A schema that is valid JSON Schema, ready to check answers with. */
export interface SchemaCheck {
  /** Where a value does not follow the schema, a line each; none when it does. */
  deviations(value: unknown): readonly string[];
}

const dialects = {
  'draft 2020-12': /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/,
  'draft-07': /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/,
} as const;

/** How long an answer may be checked: a pattern can take for ever, and the answer is paid for. */
const checkMs = 1000;
const mostDeviations = 5;

/**
 * Checks that a schema is JSON Schema: draft 2020-12, or draft-07 where its `$schema` says so. What it refers to must
 * be in it: nothing is fetched. Formats and keywords that JSON Schema doesn't know say nothing. Throws UsageError.
 */
export async function checkJsonSchema({ $schema, $async: _, ...schema }: EnrichSchema): Promise<SchemaCheck> {
  // ($async is the validator's own: its check would end after the program.)
  const ajv = await createValidator($schema);
  let validate: ReturnType<typeof ajv.compile>;
  try {
    if (!ajv.validateSchema(schema)) throw toSchemaError(ajv.errors ?? []);
    validate = ajv.compile(schema);
  } catch (error) {
    throw error instanceof UsageError ? error : toCompileError(error);
  }
  return {
    deviations(value) {
      try {
        const follows = runInNewContext('check()', { check: () => validate(value) }, { timeout: checkMs });
        return follows ? [] : toDeviations(validate.errors ?? [], value);
      } catch {
        return ['it could not be checked: that takes too long'];
      }
    },
  };
}

async function createValidator($schema: unknown) {
  const isDialect = (dialect: keyof typeof dialects): boolean =>
    typeof $schema === 'string' && dialects[dialect].test($schema);
  if ($schema === undefined || isDialect('draft 2020-12')) {
    const { default: ajv } = await import('ajv/dist/2020.js');
    return new ajv.Ajv2020(validatorOptions);
  }
  if (isDialect('draft-07')) {
    const { default: ajv } = await import('ajv');
    return new ajv.Ajv(validatorOptions);
  }
  throw new UsageError(
    `the schema is of an unknown kind ($schema: ${JSON.stringify($schema).slice(0, 100)})`,
    `Known are ${Object.keys(dialects).join(' and ')}; without $schema it is taken as draft 2020-12.`,
  );
}

const validatorOptions: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  logger: false,
  code: { regExp: Object.assign(toPattern, { code: 'new RegExp' }) },
};

/** Patterns are Unicode by the specification; many in use are valid only without. */
function toPattern(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

function toSchemaError([first]: readonly ErrorObject[]): UsageError {
  return new UsageError(
    `the schema is not valid JSON Schema${first === undefined ? '' : ` ${toText(first)}`}`,
  );
}

function toCompileError(error: unknown): UsageError {
  const { message, missingRef } = error as Error & { missingRef?: string };
  if (missingRef === undefined) return new UsageError(`the schema can't be used: ${message.slice(0, 300)}`);
  return new UsageError(
    `the schema refers to ${missingRef.slice(0, 300)}, which is not in it`,
    'Nothing is fetched: put what it refers to under $defs.',
  );
}

function toDeviations(errors: readonly ErrorObject[], value: unknown): string[] {
  const lines = [...new Set(errors.map((error) => `${toText(error)}${foundAt(value, error.instancePath)}`))];
  if (lines.length <= mostDeviations) return lines;
  return [...lines.slice(0, mostDeviations), `in ${lines.length - mostDeviations} more places`];
}

function toText({ instancePath, message, params }: ErrorObject): string {
  const allowed: unknown = params.allowedValues ?? params.allowedValue ?? params.additionalProperty;
  const values =
    allowed === undefined ? '' : ` (${[allowed].flat().map(toValueText).join(', ').slice(0, 200)})`;
  return `at ${instancePath === '' ? 'its root' : instancePath.slice(0, 200)}: ${message}${values}`;
}

/** A value of the schema can be an object, of which String() makes nothing or an error. */
function toValueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Null is how a service says that it found nothing. */
function foundAt(value: unknown, instancePath: string): string {
  let at = value;
  for (const part of instancePath.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = (at as Record<string, unknown> | null | undefined)?.[key];
  }
  return at === null ? ', and is null' : '';
}
