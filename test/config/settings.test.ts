import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  checkProfileName,
  readProfile,
  type SettingName,
  toSettingValue,
} from '../../src/config/settings.ts';
import { bundle } from '../helpers/bundle.ts';
import { temporaryFolder } from '../helpers/run.ts';

const values: readonly [SettingName, given: string, value: string | number | 'refused'][] = [
  ['base_url', 'https://leads.example', 'https://leads.example'],
  ['base_url', ' http://127.0.0.1:4010/ ', 'http://127.0.0.1:4010/'],
  ['base_url', 'http://leads.example', 'refused'],
  ['base_url', 'https://user:secret@leads.example', 'refused'],
  ['base_url', '', 'refused'],
  ['auth_header', 'bearer', 'bearer'],
  ['auth_header', 'Bearer', 'refused'],
  ['format', 'csv', 'csv'],
  ['format', 'xml', 'refused'],
  ['credential_store', 'file', 'file'],
  ['ca_file', 'ca.pem', resolve('ca.pem')],
  ['ca_file', '', 'refused'],
  ['timeout.idle', '60', 60],
  ['timeout.idle', '0.5', 0.5],
  ['timeout.idle', '0', 'refused'],
  ['timeout.idle', '1e3', 'refused'],
  ['timeout.idle', '-1', 'refused'],
  ['timeout.idle', '86401', 'refused'],
  ['retry.attempts', '0', 0],
  ['retry.attempts', '20', 20],
  ['retry.attempts', '21', 'refused'],
  ['retry.attempts', '1.5', 'refused'],
  ['price.contact.email', '5', 5],
  ['price.extract', '0.000001', 0.000001],
  ['price.extract', '0', 0],
  ['price.extract', '0.0000001', 'refused'],
  ['price.extract', '100001', 'refused'],
  ['price.extract', '-1', 'refused'],
  ['price.search', 'free', 'refused'],
];

describe('the value of a setting', () => {
  it.each(values)('%s %j is %j', (name, given, value) => {
    if (value === 'refused') expect(() => toSettingValue(name, given)).toThrow(/must be|can't be used/);
    else expect(toSettingValue(name, given)).toBe(value);
  });

  it.each([
    ['default', true],
    ['work.2-b_c', true],
    ['', false],
    ['-p', false],
    ['__proto__', false],
    ['a b', false],
    ['ü', false],
    ['x'.repeat(65), false],
  ])('the name %j is one of a profile: %s', (name, right) => {
    if (right) expect(checkProfileName(name)).toBe(name);
    else expect(() => checkProfileName(name)).toThrow("can't be the name of a profile");
  });
});

describe('the profile in use', () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      profile: 'b',
      profiles: { a: { format: 'csv' }, b: { format: 'json' }, c: { format: 'xml' }, d: [] },
    }),
  );
  const context = (env = {}) => ({ directories: { config: folder, state: '' }, env });

  it.each([
    ['a', {}, 'a', 'csv'],
    ['a', { LEADPIPE_PROFILE: 'b' }, 'a', 'csv'],
    [undefined, { LEADPIPE_PROFILE: 'a' }, 'a', 'csv'],
    [undefined, { LEADPIPE_PROFILE: '' }, 'b', 'json'],
    [undefined, {}, 'b', 'json'],
    ['default', {}, 'default', undefined],
  ])('--profile %s and %j is %s', async (named, env, name, format) => {
    const profile = await readProfile(context(env), named);
    expect([profile.name, profile.settings.format]).toEqual([name, format]);
  });

  it.each([
    ['x', 'there is no profile "x"'],
    ['toString', 'there is no profile "toString"'],
    ['c', 'format of the profile "c" must be table, cards, jsonl, json'],
    ['d', 'the profile "d" is not an object'],
  ])('--profile %s is refused', async (named, message) => {
    await expect(readProfile(context(), named)).rejects.toThrow(message);
  });
});

describe('processes that write at once', () => {
  const processes = 5;
  const each = 60;
  let worker = '';

  beforeAll(async () => {
    worker = await bundle(join(import.meta.dirname, 'settings-worker.ts'));
  });

  function write(config: string, name: string, count: number): ChildProcess {
    return spawn(process.execPath, [worker, config, name, String(count)], { stdio: 'inherit' });
  }

  it(`${processes * each} times: nothing is lost, and nothing else is left behind`, async () => {
    const config = join(temporaryFolder(), 'config');
    const names = Array.from({ length: processes }, (_, index) => `p${index}`);
    const ends = names.map((name) => once(write(config, name, each), 'exit'));
    expect((await Promise.all(ends)).map(([code]) => code)).toEqual(Array(processes).fill(0));
    const { profiles } = JSON.parse(readFileSync(join(config, 'config.json'), 'utf8'));
    const expected = names.flatMap((name) =>
      Array.from({ length: each }, (_, index) => [`${name}-${index}`, { 'poll.max': index + 1 }]),
    );
    expect(profiles).toEqual(Object.fromEntries(expected));
    expect(readdirSync(config)).toEqual(['config.json']);
  });

  it('after a kill at any moment the file is whole, and the next write removes temporary files', async () => {
    const config = join(temporaryFolder(), 'config');
    mkdirSync(config);
    for (let round = 0; round < 20; round++) {
      const child = write(config, `r${round}`, 1000);
      const begun = `"r${round}-${round % 7}"`;
      await expect
        .poll(() => (readdirSync(config).includes('config.json') ? readConfig(config) : ''), { interval: 1 })
        .toContain(begun);
      child.kill('SIGKILL');
      await once(child, 'exit');
      JSON.parse(readConfig(config));
    }
    // As a killed write of a key would leave it.
    for (const left of ['part', 'tmp-1763800000abcdef'])
      writeFileSync(join(config, `config.json.${left}`), 'half');
    chmodSync(join(config, 'config.json'), 0o644);
    expect((await once(write(config, 'last', 1), 'exit'))[0]).toBe(0);
    expect(Object.keys(JSON.parse(readConfig(config)).profiles)).toContain('last-0');
    expect(readdirSync(config)).toEqual(['config.json']);
    expect(statSync(join(config, 'config.json')).mode & 0o777).toBe(0o600);
  });
});

function readConfig(folder: string): string {
  return readFileSync(join(folder, 'config.json'), 'utf8');
}
