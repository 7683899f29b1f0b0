import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingNames } from '../../src/config/settings.ts';
import { ending, failing } from '../helpers/ending.ts';
import { recordsIn, runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, run } from '../helpers/run.ts';
import { withConfigFile, withSettings } from '../helpers/settings.ts';

type Env = Record<string, string>;
const config = (env: Env, words: string) => runInProcess(`config ${words}`, { env });
const fileOf = (env: Env): string => join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json');

/** Defaults. The other settings have none. */
const defaults = {
  auth_header: 'auto',
  format: 'table on a terminal, else jsonl',
  credential_store: 'keychain',
  'timeout.connect': 10,
  'timeout.headers': '15 to 900, by endpoint',
  'timeout.idle': '15 to 90, by endpoint',
  'timeout.event': 300,
  'timeout.total': '30 to 3600, by endpoint',
  'retry.attempts': 20,
  'retry.budget': 60,
  'poll.interval': 5,
  'poll.max': 30,
};

async function listed(env: Env): Promise<Record<string, { value: unknown; from: unknown }>> {
  const records = recordsIn((await config(env, 'list --columns setting,value,from -f jsonl')).stdout);
  return Object.fromEntries(records.map(({ setting, value, from }) => [setting, { value, from }]));
}

describe('config', () => {
  it('sets, gets, lists and unsets, in files that are the user’s alone', async () => {
    const env = bareEnvironment();
    const nothing = { stdout: '', stderr: '', code: 0 };
    expect(await run('config set timeout.idle 60', { env })).toEqual(nothing);
    expect(await run('config get timeout.idle', { env })).toMatchObject({ stdout: '60\n', code: 0 });
    expect(statSync(env.LEADPIPE_CONFIG_DIR ?? '').mode & 0o777).toBe(0o700);
    expect(statSync(fileOf(env)).mode & 0o777).toBe(0o600);
    expect((await config(env, 'path')).stdout).toBe(`${fileOf(env)}\n`);
    const settings = await listed(env);
    expect(Object.keys(settings)).toEqual(settingNames);
    expect(settings['timeout.idle']).toEqual({ value: 60, from: 'profile' });
    expect((await config(env, 'unset timeout.idle')).code).toBe(0);
    expect((await config(env, 'get timeout.idle')).stdout).not.toBe('60\n');
    expect(await config(env, 'get base_url')).toMatchObject({ stdout: '', code: 6 });
  });

  it('lists and gets the defaults', async () => {
    const env = bareEnvironment();
    const wanted = settingNames.map((name) => {
      const value = (defaults as Record<string, unknown>)[name];
      return [name, value === undefined ? { value: null, from: null } : { value, from: 'default' }];
    });
    expect(await listed(env)).toEqual(Object.fromEntries(wanted));
    for (const [name, value] of Object.entries(defaults)) {
      expect(await config(env, `get ${name}`)).toEqual({ stdout: `${value}\n`, stderr: '', code: 0 });
    }
  });

  it('has a profile of its own for each name, and keeps what it does not know', async () => {
    const env = withConfigFile('{"of_tomorrow":1,"profiles":{"work":{"new_setting":"x"}}}');
    await config(env, 'set format csv --profile work');
    await config({ ...env, LEADPIPE_PROFILE: 'other' }, 'set format json');
    expect(JSON.parse(readFileSync(fileOf(env), 'utf8'))).toEqual({
      of_tomorrow: 1,
      profiles: { work: { new_setting: 'x', format: 'csv' }, other: { format: 'json' } },
    });
  });

  it('sets several at once, or none of them', async () => {
    const env = bareEnvironment();
    const several = 'set price.contact.email=5 price.contact.phone=10 base_url=https://a.example/x=1';
    expect(await config(env, several)).toEqual({ stdout: '', stderr: '', code: 0 });
    const written = readFileSync(fileOf(env), 'utf8');
    expect(JSON.parse(written).profiles).toEqual({
      default: { 'price.contact.email': 5, 'price.contact.phone': 10, base_url: 'https://a.example/x=1' },
    });
    for (const [words, says] of [
      ['price.search=1 price.serch=2', 'unknown setting "price.serch": did you mean price.search?'],
      ['price.search=1 price.task=x', 'price.task must be a number of credits'],
      ['price.search=1 price.search=2', 'price.search is given twice'],
      ['price.search=1 2', '"2" must have the form <setting>=<value>'],
      ['price.search 1 price.task=2', 'must have the form <setting>=<value>'],
      ['price.search=', 'price.search must be'],
      ['price.search', 'the value is missing'],
    ] as const) {
      expect(await config(env, `set ${words}`)).toMatchObject(failing(2, says));
      expect(readFileSync(fileOf(env), 'utf8')).toBe(written);
    }
  });

  it('shows what the environment says before the profile', async () => {
    const value = 'https://leads.example';
    const { base_url } = await listed({ ...bareEnvironment(), LEADPIPE_BASE_URL: value });
    expect(base_url).toEqual({ value, from: 'LEADPIPE_BASE_URL' });
  });

  it.each([
    ['set timeout.idel 60', 2, 'timeout.idle'],
    ['get api_key', 2, 'base_url'],
    ['set format xml', 2, 'table, cards, jsonl, json, csv'],
    ['set timeout.idle soon', 2, 'seconds above 0 and at most 86400'],
    ['set ca_file nowhere.pem', 2, 'there is no such file'],
    ['set base_url http://leads.example', 78, 'https'],
    ['set format csv --profile ../x', 2, "can't be the name of a profile"],
    ['list --profile nowhere', 78, 'auth login --profile nowhere'],
  ])('refuses `config %s` with %i', async (words, code, says) => {
    const env = bareEnvironment();
    expect(await config(env, words)).toMatchObject(failing(code, says));
    expect(() => statSync(env.LEADPIPE_CONFIG_DIR ?? '')).toThrow('ENOENT');
  });

  it.each([
    ['{"profiles": {"default": {"base_url"', 'is not a JSON object'],
    ['', 'is not a JSON object'],
    ['[1]', 'is not a JSON object'],
    ['"text"', 'is not a JSON object'],
    ['{"profiles":3}', '"profiles" is not an object'],
    ['{"profiles":[]}', '"profiles" is not an object'],
    ['{"profile":3}', '"profile" is not a text'],
  ])('names a file of %j, and leaves it as it is', async (damaged, says) => {
    const env = withConfigFile(damaged);
    for (const line of ['config set format csv', 'config unset format', 'config list', 'balance']) {
      expect(await runInProcess(line, { env })).toMatchObject(ending(78, fileOf(env), says));
    }
    expect(readFileSync(fileOf(env), 'utf8')).toBe(damaged);
  });

  it('can repair a setting that makes its profile unusable', async () => {
    const env = withSettings({ format: 'xml' });
    expect(await runInProcess('balance', { env })).toMatchObject(ending(78, 'leadpipe config unset format'));
    expect((await config(env, 'unset format')).code).toBe(0);
    expect((await config(env, 'list')).code).toBe(0);
  });

  it('makes no profile by removing something from it', async () => {
    const env = bareEnvironment();
    await config(env, 'set format csv');
    await config(env, 'unset format --profile wrok');
    expect((await config(env, 'list --profile wrok')).code).toBe(78);
  });

  it('reports a config folder that is a file', async () => {
    const env = bareEnvironment();
    writeFileSync(env.LEADPIPE_CONFIG_DIR ?? '', 'not a folder');
    expect(await config(env, 'set format csv')).toMatchObject(ending(74, 'config.json'));
  });
});
