import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { decoded, decodeText } from '../../src/files/decoded.ts';
import { ending, failing } from '../helpers/ending.ts';
import { startService } from '../helpers/local-service.ts';
import { createMachine } from '../helpers/machine.ts';
import { writeConfig } from '../helpers/settings.ts';

const at = createMachine();
const put = (name: string, bytes: Buffer): void => writeFileSync(at.pathOf(name), bytes);

/** Every place that takes a text: the file that it is in, the text, the command, and what the request then has. */
const names = '"dedup_custom_leads":["Müller","Özil"]';
const places: readonly [file: string, text: string, line: string, sent: string][] = [
  ['objective', 'Zahnärzte', 'search company @objective', '"objective":"Zahnärzte"'],
  ['stdin', 'Zahnärzte', 'search company -', '"objective":"Zahnärzte"'],
  ['names.txt', 'Müller\nÖzil\n', 'search company x --dedup-custom-leads @names.txt', names],
  ['names.csv', 'name,id\nMüller,1\nÖzil,2\n', 'search company x --dedup-custom-leads @names.csv', names],
  [
    'names.jsonl',
    '{"name":"Müller"}\n{"name":"Özil"}\n',
    'search company x --dedup-custom-leads @names.jsonl',
    names,
  ],
  ['fields', 'größe', 'search company x --enrich-fields @fields', '"enrich_fields":["größe"]'],
  [
    'schema.json',
    '{"type":"object","properties":{"größe":{"type":"string"}}}',
    'enrich x --schema schema.json',
    '"properties":{"größe"',
  ],
  [
    'instruction',
    'Gehälter',
    'extract web2list https://a.example/team --instruction @instruction',
    '"instruction":"Gehälter"',
  ],
];

const inLatin1 = (text: string) => Buffer.from(text, 'latin1');
const inUtf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('a text that is given', () => {
  it.each(places)(
    'as %s is read as UTF-16 with its mark, and refused as Latin-1',
    async (file, text, line, sent) => {
      for (const stdin of [Buffer.from(`\ufeff${text}`), inUtf16(text)]) {
        put(file, stdin);
        const { code, stdout, stderr } = await at.leadpipe(`${line} --local --dry-run`, { stdin });
        expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toContain(sent);
      }
      put(file, inLatin1(text));
      const refused = await at.leadpipe(`${line} --local --dry-run`, { stdin: inLatin1(text) });
      const says = ['is not UTF-8 text (line ', 'iconv -f'];
      expect(refused).toMatchObject(failing(2, ...says));
    },
  );

  const catalogue = '{"name":"Müller Zähne","description":"Zahnärzte in Köln"}\n';
  const scenario = '{"faults":[{"operation":"search","fault":"status","status":402,"body":"Für später"}]}';
  it.each([
    ['catalogFile', 'catalogue.jsonl', catalogue, 0, 'Müller Zähne'],
    ['scenarioFile', 'scenario.json', scenario, 5, ''],
  ])('to the local service as its %s is read and refused alike', async (option, name, text, code, says) => {
    const begin = (bytes: Buffer) => {
      put(name, bytes);
      return startService({ [option]: at.pathOf(name) });
    };
    await expect(begin(inLatin1(text))).rejects.toThrow(UsageError);
    const service = await begin(inUtf16(text));
    const result = await at.leadpipe('search company Zahnärzte --limit 1', { env: service.env() });
    expect(result).toMatchObject({ code, stdout: expect.stringContaining(says) });
  });

  it('as the settings is UTF-8, and anything else is named', async () => {
    const text = '{"profile":"büro","profiles":{"büro":{"format":"csv"}}}';
    writeConfig(at.env, text);
    expect((await at.leadpipe('config get format')).stdout).toBe('csv\n');
    const path = join(at.env.LEADPIPE_CONFIG_DIR ?? '', 'config.json');
    // What leadpipe writes is UTF-8, and nothing else is a setting.
    for (const other of [inUtf16(text), inLatin1(text)]) {
      writeFileSync(path, other);
      expect(await at.leadpipe('config get format')).toMatchObject(ending(78, path));
      expect(readFileSync(path)).toEqual(other);
    }
  });

  it.each<[name: string, bytes: number[], says: string]>([
    ['a workbook', [0x50, 0x4b, 3, 4, 0x14, 0, 6, 0], 'is not a text file: it is an Excel workbook (.xlsx)'],
    ['an old workbook', [0xd0, 0xcf, 0x11, 0xe0, 0xa1], 'an old Office file'],
    ['a PDF', [...Buffer.from('%PDF-1.7')], 'it is a PDF file'],
    ['gzip', [0x1f, 0x8b, 8, 0, 0, 0], 'a gzip file'],
    [
      'UTF-16 without its mark',
      [...Buffer.from('Ada', 'utf16le')],
      'it looks like UTF-16 without a byte order mark',
    ],
    ['a zero', [...Buffer.from('Ada\0')], 'it contains a zero byte'],
    ['half of UTF-16', [0xff, 0xfe, 0x41], 'it begins as UTF-16, but part of it is damaged'],
    [
      'half of a character',
      [...Buffer.from('a\nb\nJos'), 0xc3],
      'x is not UTF-8 text (line 3 has the byte C3)',
    ],
    ['Latin-1', [...Buffer.from('ä\nJos'), 0xe9, 10], 'line 2 has the byte E9'],
    [
      'GBK',
      [...Buffer.from('\ufffd\n'), 0xce, 0xd2, 0xca, 0xc7, 0xc2, 44],
      'line 2 has the bytes CE D2 CA C7',
    ],
  ])('is refused with what was found: %s', (_, bytes, says) => {
    expect(() => decodeText(Uint8Array.from(bytes), 'x')).toThrow(says);
  });

  it('is refused with the same words wherever its pieces end', async () => {
    const bytes = [...Buffer.from('ä\r\n漢字,👩\n漢'), 0xe6, 0xbc, 0x2c, 0xe4, 10];
    for (let size = 1; size < bytes.length; size++) {
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield Uint8Array.from(bytes.slice(at, at + size));
      };
      const read = async () => {
        for await (const _ of decoded(pieces(), 'x'));
      };
      await expect(read(), `in pieces of ${size}`).rejects.toThrow('line 3 has the bytes E6 BC');
    }
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
