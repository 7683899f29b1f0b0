import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { decoded, decodeText } from '../../src/files/decoded.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { startService } from '../helpers/local-service.ts';
import { bareEnvironment, temporaryFolder } from '../helpers/run.ts';

const folder = temporaryFolder();
const env = bareEnvironment(folder);
const file = (name: string): string => join(folder, name);
const company = (...more: string[]) => ['search', 'company', ...more, '--local', '--dry-run'];

/** Every place that takes a text: what is in it, the command, and what the request then has. */
const places: readonly [name: string, text: string, args: (at: string) => string[], sent: string][] = [
  ['an objective in a file', 'Zahnärzte', (at) => company(`@${at}`), '"objective":"Zahnärzte"'],
  ['an objective on stdin', 'Zahnärzte', () => company('-'), '"objective":"Zahnärzte"'],
  [
    'names in a text file',
    'Müller\nÖzil\n',
    (at) => company('x', '--dedup-custom-leads', `@${at}`),
    '"dedup_custom_leads":["Müller","Özil"]',
  ],
  [
    'names.csv',
    'name,id\nMüller,1\n',
    (at) => company('x', '--dedup-custom-leads', `@${at}`),
    '"dedup_custom_leads":["Müller"]',
  ],
  [
    'names.jsonl',
    '{"name":"Müller"}\n',
    (at) => company('x', '--dedup-custom-leads', `@${at}`),
    '"dedup_custom_leads":["Müller"]',
  ],
  ['fields', 'größe', (at) => company('x', '--enrich-fields', `@${at}`), '"enrich_fields":["größe"]'],
  [
    'schema.json',
    '{"type":"object","properties":{"größe":{"type":"string"}}}',
    (at) => ['enrich', 'x', '--schema', at, '--local', '--dry-run'],
    '"properties":{"größe"',
  ],
  [
    'instruction',
    'Gehälter',
    (at) => [
      ...['extract', 'web2list', 'https://a.example/team', '--instruction', `@${at}`],
      ...['--local', '--dry-run'],
    ],
    '"instruction":"Gehälter"',
  ],
];

const inLatin1 = (text: string) => Buffer.from(text, 'latin1');
const inUtf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('a text that is given', () => {
  it.each(places)(
    'as %s is read as UTF-16 with its mark, and refused as Latin-1',
    async (name, text, args, sent) => {
      const at = file(name);
      for (const bytes of [Buffer.from(`\ufeff${text}`), inUtf16(text)]) {
        writeFileSync(at, bytes);
        const { code, stdout, stderr } = await runInProcess(args(at), { env, stdin: bytes });
        expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toContain(sent);
      }
      writeFileSync(at, inLatin1(text));
      expect(await runInProcess(args(at), { env, stdin: inLatin1(text) })).toMatchObject(
        failing(2, 'is not UTF-8 text (line ', 'it looks like Latin-1 or Windows-1252'),
      );
    },
  );

  const catalogue = '{"name":"Müller Zähne","description":"Zahnärzte in Köln"}\n';
  const scenario = '{"faults":[{"operation":"search","fault":"status","status":402,"body":"Für später"}]}';
  it.each([
    ['--catalog', 'catalogue.jsonl', catalogue, 0, 'Müller Zähne'],
    ['--scenario', 'scenario.json', scenario, 5, ''],
  ])('to the local service with %s is read and refused alike', async (option, name, text, exit, says) => {
    const at = file(name);
    const begin = async (bytes: Buffer) => {
      writeFileSync(at, bytes);
      return await startService(option === '--catalog' ? { catalogFile: at } : { scenarioFile: at });
    };
    await expect(begin(inLatin1(text))).rejects.toThrow(UsageError);
    const service = await begin(inUtf16(text));
    const { code, stdout } = await runInProcess('search company Zahnärzte --limit 1', { env: service.env() });
    await service.close();
    expect({ code, has: stdout.includes(says) }).toEqual({ code: exit, has: true });
  });

  it('as the settings is UTF-8, and anything else is named', async () => {
    const own = bareEnvironment();
    const { mkdirSync } = await import('node:fs');
    mkdirSync(own.LEADPIPE_CONFIG_DIR as string);
    const path = join(own.LEADPIPE_CONFIG_DIR as string, 'config.json');
    const text = '{"profile":"büro","profiles":{"büro":{"format":"csv"}}}';
    writeFileSync(path, text);
    expect((await runInProcess('config get format', { env: own })).stdout).toBe('csv\n');
    // What leadpipe writes is UTF-8, and nothing else is a setting.
    for (const other of [inUtf16(text), inLatin1(text)]) {
      writeFileSync(path, other);
      expect(await runInProcess('config get format', { env: own })).toMatchObject(ending(78, path));
      expect(readFileSync(path)).toEqual(other);
    }
  });

  it.each<[name: string, bytes: number[], says: string]>([
    ['a workbook', [0x50, 0x4b, 3, 4, 0x14, 0, 6, 0], 'is not a text file: it is an Excel workbook (.xlsx)'],
    ['an old workbook', [0xd0, 0xcf, 0x11, 0xe0, 0xa1], 'a workbook or document of an old Office'],
    ['a PDF', [...Buffer.from('%PDF-1.7')], 'it is a PDF file'],
    ['gzip', [0x1f, 0x8b, 8, 0, 0, 0], 'that gzip has compressed'],
    ['UTF-16 without its mark', [...Buffer.from('Ada', 'utf16le')], 'it looks like UTF-16 without the mark'],
    ['a zero', [...Buffer.from('Ada\0')], 'it contains a zero byte'],
    ['half of UTF-16', [0xff, 0xfe, 0x41], 'it begins as UTF-16, but part of it is damaged'],
    ['half of a character', [...Buffer.from('a\nb\nJos'), 0xc3], 'line 3 is not; it looks like Latin-1'],
  ])('is refused with what was found: %s', (_, bytes, says) => {
    expect(() => decodeText(Uint8Array.from(bytes), 'x')).toThrow(says);
  });

  it('is the same however it is cut', async () => {
    const cut = fc.tuple(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 5 }), fc.boolean());
    await fc.assert(
      fc.asyncProperty(cut, async ([given, size, wide]) => {
        const text = given.replaceAll('\0', '');
        const bytes = wide ? inUtf16(text) : Buffer.from(`\ufeff${text}`);
        const pieces = async function* () {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        };
        let read = '';
        for await (const piece of decoded(pieces(), 'x')) read += piece;
        expect(read).toBe(text);
      }),
      { numRuns: 200 },
    );
  });
});
