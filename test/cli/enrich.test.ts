import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runAnswered } from '../helpers/answered.ts';
import { ending } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';

const folder = temporaryFolder();
let files = 0;
/** A schema file. */
function file(content: unknown): string {
  const path = join(folder, `${++files}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const city = ['--field', 'city'];

describe('enrich: bad input', () => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await startFaultServer((socket) => void socket.destroy());
  });

  it('a terminal is not waited for', async () => {
    const env = pointedAt(server.url);
    expect(await runInProcess(['enrich', ...city], { env, stdin: 'x', stdinIsTerminal: true })).toMatchObject(
      ending(2, 'the entity context is missing'),
    );
    expect(server.connections()).toBe(0);
  });

  it('a remote $ref is refused and not fetched', async () => {
    const schema = file({ type: 'object', properties: { a: { $ref: `${server.url}/schema.json` } } });
    expect(await run(['enrich', 'x', '--schema', schema], { env: pointedAt(server.url) })).toMatchObject(
      ending(2, 'fetches no other schemas'),
    );
    expect(server.connections()).toBe(0);
  });

  it('the built command validates too, in both drafts', async () => {
    for (const $schema of [
      'http://json-schema.org/draft-07/schema#',
      'https://json-schema.org/draft/2020-12/schema',
    ]) {
      const schema = file({ $schema, type: 'object', properties: { a: { type: 'int' } } });
      expect(await run(['enrich', 'x', '--schema', schema], { env: pointedAt(server.url) })).toMatchObject(
        ending(2, 'not valid JSON Schema'),
      );
    }
  });
});

describe('enrich', () => {
  const enrich = (answer: string, args: readonly string[], more = {}) =>
    runAnswered(`{"success":true,"answer":${answer}}`, ['enrich', ...args], more);

  it('reads the context from stdin when it is left out, trimmed, to the last byte', async () => {
    const { code, sent } = await enrich('{"city":"Berlin"}', city, { stdin: ` ${'é'.repeat(8192)} \n` });
    expect({ code, context: sent.entity_context }).toEqual({ code: 0, context: 'é'.repeat(8192) });
  });

  it('sends the schema of the file, as it is', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      required: ['b'],
      properties: { b: { $ref: '#/definitions/n' }, a: { type: ['string', 'null'] } },
      definitions: { n: { type: 'number', minimum: 1.5 } },
    };
    const result = await enrich('{"b":2}', [
      'x',
      '--schema',
      file(`\ufeff${JSON.stringify(schema, null, 2)}`),
    ]);
    expect(result).toMatchObject({ code: 0, stdout: '{"success":true,"answer":{"b":2}}\n' });
    expect(result.stderr).not.toContain('warning');
    expect(result.sent.enrich_fields).toEqual(schema);
  });

  it('CSV has the properties of the schema, whatever the answer holds', async () => {
    const args = ['x', '--field', 'b:integer', '--field', 'a', '-f', 'csv', '-q'];
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
    expect((await enrich(answer, ['x', ...city, '-f', 'table'])).stdout).toBe(stdout);
  });

  const deviating: readonly [answer: string, says: string][] = [
    ['{"city":7}', '"city" must be string'],
    ['{"city":null}', 'no value for "city" (null)'],
    ['["Berlin"]', 'it must be object'],
    ['"Berlin"', 'it must be object'],
  ];
  it.each(deviating)('%s: a warning says where, and the answer is kept', async (answer, says) => {
    expect(await enrich(answer, ['x', ...city])).toMatchObject({
      ...ending(0, `warning: the answer does not follow the schema: ${says}\n`),
      stdout: `{"success":true,"answer":${answer}}\n`,
    });
  });

  it('a warning carries nothing to the terminal', async () => {
    const name = 'a\u001b[2J';
    const schema = file({ type: 'object', properties: { [name]: { type: 'string' } } });
    const { stderr } = await enrich('{"a\\u001b[2J":1}', ['x', '--schema', schema]);
    expect(stderr).toContain('"a[2J" must be string');
  });

  it('a pattern that would take for ever costs a second, not the answer', async () => {
    const schema = file({ type: 'object', properties: { a: { pattern: '^(a+)+$' } } });
    const answer = `{"a":"${'a'.repeat(100)}b"}`;
    expect(await enrich(answer, ['x', '--schema', schema])).toMatchObject({
      ...ending(0, 'could not be checked'),
      stdout: `{"success":true,"answer":${answer}}\n`,
    });
  });
});
