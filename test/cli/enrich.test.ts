import { beforeAll, describe, expect, it } from 'vitest';
import { runAnswered } from '../helpers/answered.ts';
import { ending } from '../helpers/ending.ts';
import type { FakeOptions } from '../helpers/fake-context.ts';
import { fileOf } from '../helpers/local-service.ts';
import { machineWith } from '../helpers/machine.ts';

/** A schema file. */
const file = (content: object): string => fileOf('schema.json', JSON.stringify(content));

describe('enrich: bad input', () => {
  let at: Awaited<ReturnType<typeof machineWith>>;
  beforeAll(async () => {
    at = await machineWith((socket) => void socket.destroy());
  });

  it('does not wait for input from a terminal', async () => {
    const result = await at.leadpipe('enrich --field city', { stdin: 'x', stdinIsTerminal: true });
    expect(result).toMatchObject(ending(2, 'the entity context is missing'));
    expect(at.connections()).toBe(0);
  });

  it('a remote $ref is refused and not fetched', async () => {
    const schema = file({ type: 'object', properties: { a: { $ref: `${at.url}/schema.json` } } });
    const says = 'fetches no other schemas';
    expect(await at.run(`enrich x --schema ${schema}`)).toMatchObject(ending(2, says));
    expect(at.connections()).toBe(0);
  });

  it.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'])(
    'the built command validates too: %s',
    async ($schema) => {
      const schema = file({ $schema, type: 'object', properties: { a: { type: 'int' } } });
      const says = 'not valid JSON Schema';
      expect(await at.run(`enrich x --schema ${schema}`)).toMatchObject(ending(2, says));
    },
  );
});

describe('enrich', () => {
  const enrich = (answer: string, words: string, options?: FakeOptions) =>
    runAnswered(`{"success":true,"answer":${answer}}`, `enrich ${words}`, options);

  it.each([
    ['', '0 of 2 fields filled'],
    [' --input -', '2 rows lack fields: city (2), shoe (2)'],
  ])('counts no field that says nothing%s', async (words, says) => {
    const { stderr } = await enrich('{"city":" ","shoe":[""]}', `--field city --field shoe${words}`, {
      stdin: 'Ada\nBo\n',
    });
    expect(stderr).toContain(says);
  });

  it('reads the context from stdin when it is left out, trimmed, to the last byte', async () => {
    const entity_context = 'é'.repeat(8192);
    const stdin = ` ${entity_context} \n`;
    const result = await enrich('{"city":"Berlin"}', '--field city', { stdin });
    expect(result).toMatchObject({ code: 0, sent: { entity_context } });
  });

  it('sends the schema of the file, as it is', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      required: ['b'],
      properties: { b: { $ref: '#/definitions/n' }, a: { type: ['string', 'null'] } },
      definitions: { n: { type: 'number', minimum: 1.5 } },
    };
    const path = fileOf('schema.json', `\ufeff${JSON.stringify(schema, null, 2)}`);
    const result = await enrich('{"b":2}', `x --schema ${path}`);
    expect(result).toMatchObject({ code: 0, stdout: '{"success":true,"answer":{"b":2}}\n' });
    expect(result.stderr).not.toContain('warning');
    expect(result.sent.enrich_fields).toEqual(schema);
  });

  it('CSV has the properties of the schema, whatever the answer holds', async () => {
    const args = 'x --field b:integer --field a -f csv -q';
    expect((await enrich('{"a":"=1","b":12345678901234567890,"c":1}', args)).stdout).toBe(
      "b,a\r\n12345678901234567890,'=1\r\n",
    );
    expect((await enrich('"nothing"', args)).stdout).toBe('b,a\r\n,\r\n');
  });

  it.each([
    ['{"city":"Berlin","more":{"a":1}}', 'city  Berlin\nmore  a: 1\n'],
    ['{}', 'city  –\n'],
    ['"Berlin"', 'answer  Berlin\n'],
  ])('a table of %s hides nothing that was paid for', async (answer, stdout) => {
    expect((await enrich(answer, 'x --field city -f table')).stdout).toBe(stdout);
  });

  const deviating: readonly [answer: string, says: string][] = [
    ['{"city":7}', '"city" must be string'],
    ['{"city":null}', 'no value for "city" (null)'],
    ['["Berlin"]', 'it must be object'],
    ['"Berlin"', 'it must be object'],
  ];
  it.each(deviating)('%s: a warning says where, and the answer is kept', async (answer, says) => {
    expect(await enrich(answer, 'x --field city')).toMatchObject({
      ...ending(0, `warning: the answer does not follow the schema: ${says}\n`),
      stdout: `{"success":true,"answer":${answer}}\n`,
    });
  });

  it('a warning carries nothing to the terminal', async () => {
    const name = 'a\u001b[2J';
    const schema = file({ type: 'object', properties: { [name]: { type: 'string' } } });
    const { stderr } = await enrich('{"a\\u001b[2J":1}', `x --schema ${schema}`);
    expect(stderr).toContain('"a[2J" must be string');
  });

  it('gives up on an endless pattern after a second, and keeps the answer', async () => {
    const schema = file({ type: 'object', properties: { a: { pattern: '^(a+)+$' } } });
    const answer = `{"a":"${'a'.repeat(100)}b"}`;
    expect(await enrich(answer, `x --schema ${schema}`)).toMatchObject({
      ...ending(0, 'could not be checked'),
      stdout: `{"success":true,"answer":${answer}}\n`,
    });
  });
});
