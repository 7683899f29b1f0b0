import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment, type Result } from './run.ts';

/** Writes a file of the config directory of this environment. */
export function writeConfig(
  env: Readonly<Record<string, string>>,
  content: string,
  name = 'config.json',
): void {
  const folder = env.LEADPIPE_CONFIG_DIR as string;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), content);
}

/** Writes the settings of the profile of this environment. */
export function writeSettings(env: Readonly<Record<string, string>>, settings: object): void {
  writeConfig(env, JSON.stringify({ profiles: { default: settings } }));
}

/** An environment whose config directory has this file. */
export function withConfigFile(content: string, name?: string): Record<string, string> {
  const env = bareEnvironment();
  writeConfig(env, content, name);
  return env;
}

/** An environment whose profile has these settings. */
export function withSettings(settings: object): Record<string, string> {
  const env = bareEnvironment();
  writeSettings(env, settings);
  return env;
}

/** A run that failed, with what --json-errors said. */
export interface Failure extends Result {
  readonly error: { type: string; message: string; exit: number; charged: string; hint: string };
}

/** Throws when there is no error on stderr. */
export function toFailure(result: Result): Failure {
  const line = result.stderr.split('\n').find((one) => one.startsWith('{"error"'));
  if (line === undefined) throw new Error(`no error: ${JSON.stringify(result)}`);
  return { ...result, ...JSON.parse(line) };
}
