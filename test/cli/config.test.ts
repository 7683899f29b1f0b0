import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingNames } from '../../src/config/settings.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, type Result, run } from '../helpers/run.ts';
import { withConfigFile, withSettings } from '../helpers/settings.ts';

const config = (env: Record<string, string>, ...args: string[]): Promise<Result> =>
  runInProcess(['config', ...args], { env });

describe('config', () => {
  it('sets, gets, lists and unsets, in files that are the user’s alone', async () => {
    const env = bareEnvironment();
    expect(await run('config set timeout.idle 60', { env })).toEqual({ stdout: '', stderr: '', code: 0 });
    expect(await run('config get timeout.idle', { env })).toMatchObject({ stdout: '60\n', code: 0 });
    const folder = env.LEADPIPE_CONFIG_DIR ?? '';
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'config.json')).mode & 0o777).toBe(0o600);
    expect((await config(env, 'path')).stdout).toBe(`${join(folder, 'config.json')}\n`);

    const rows = (await config(env, 'list')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ setting }) => setting)).toEqual(settingNames);
    expect(rows.find(({ setting }) => setting === 'timeout.idle')).toMatchObject({
      value: 60,
      from: 'profile',
    });
    expect(rows.find(({ setting }) => setting === 'format')).toMatchObject({
      value: 'table on a terminal, else jsonl',
      from: 'default',
    });
    expect(rows.find(({ setting }) => setting === 'base_url')).toMatchObject({ value: null, from: null });

    expect((await config(env, 'unset', 'timeout.idle')).code).toBe(0);
    expect((await config(env, 'get', 'timeout.idle')).stdout).not.toBe('60\n');
    expect(await config(env, 'get', 'base_url')).toMatchObject({ stdout: '', code: 6 });
  });

  it('lists and gets what holds where nothing is set', async () => {
    const env = bareEnvironment();
    const { stdout } = await config(env, 'list', '--columns', 'setting,value,from', '-f', 'jsonl');
    const rows = stdout.trimEnd().split('\n');
    const wanted = {
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
    const listed = rows.map((row) => JSON.parse(row)).filter(({ value }) => value !== null);
    expect(listed).toEqual(
      Object.entries(wanted).map(([setting, value]) => ({ setting, value, from: 'default' })),
    );
    for (const [name, value] of Object.entries(wanted)) {
      expect(await config(env, 'get', name)).toEqual({ stdout: `${value}\n`, stderr: '', code: 0 });
    }
  });

  it('has a profile of its own for each name, and keeps what it does not know', async () => {
    const env = withConfigFile('{"of_tomorrow":1,"profiles":{"work":{"new_setting":"x"}}}');
    const file = join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json');
    await config(env, 'set', 'format', 'csv', '--profile', 'work');
    await config({ ...env, LEADPIPE_PROFILE: 'other' }, 'set', 'format', 'json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      of_tomorrow: 1,
      profiles: { work: { new_setting: 'x', format: 'csv' }, other: { format: 'json' } },
    });
  });

  it('shows what the environment says before the profile', async () => {
    const env = { ...bareEnvironment(), LEADPIPE_BASE_URL: 'https://leads.example' };
    const { stdout } = await config(env, 'list');
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      setting: 'base_url',
      value: 'https://leads.example',
      from: 'LEADPIPE_BASE_URL',
    });
  });

  it.each([
    [['set', 'timeout.idel', '60'], 2, 'timeout.idle'],
    [['get', 'api_key'], 2, 'base_url'],
    [['set', 'format', 'xml'], 2, 'table, cards, jsonl, json, csv'],
    [['set', 'timeout.idle', 'soon'], 2, 'seconds above 0 and at most 86400'],
    [['set', 'ca_file', 'nowhere.pem'], 2, 'there is no such file'],
    [['set', 'base_url', 'http://leads.example'], 78, 'https'],
    [['set', 'format', 'csv', '--profile', '../x'], 2, "can't be the name of a profile"],
    [['list', '--profile', 'nowhere'], 78, 'auth login --profile nowhere'],
  ])('refuses %j with %i', async (args, code, says) => {
    const env = bareEnvironment();
    expect(await config(env, ...args)).toMatchObject(failing(code, says));
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
    const file = join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json');
    for (const line of ['config set format csv', 'config unset format', 'config list', 'balance']) {
      expect(await runInProcess(line.split(' '), { env })).toMatchObject(ending(78, file, says));
    }
    expect(readFileSync(file, 'utf8')).toBe(damaged);
  });

  it('can mend a setting that makes its profile unusable', async () => {
    const env = withSettings({ format: 'xml' });
    expect(await runInProcess('balance', { env })).toMatchObject(ending(78, 'leadpipe config unset format'));
    expect((await config(env, 'unset', 'format')).code).toBe(0);
    expect((await config(env, 'list')).code).toBe(0);
  });

  it('makes no profile by removing something from it', async () => {
    const env = bareEnvironment();
    await config(env, 'set', 'format', 'csv');
    await config(env, 'unset', 'format', '--profile', 'wrok');
    expect((await config(env, 'list', '--profile', 'wrok')).code).toBe(78);
  });

  it('names a folder that is none', async () => {
    const env = bareEnvironment();
    writeFileSync(env.LEADPIPE_CONFIG_DIR ?? '', 'not a folder');
    expect(await config(env, 'set', 'format', 'csv')).toMatchObject(ending(74, 'config.json'));
  });
});
