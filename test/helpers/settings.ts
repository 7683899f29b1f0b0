import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment, type Result } from './run.ts';

/** An environment whose config directory has this file. */
export function withConfigFile(content: string, name = 'config.json'): Record<string, string> {
  const env = bareEnvironment();
  const folder = env.LEADPIPE_CONFIG_DIR as string;
  mkdirSync(folder);
  writeFileSync(join(folder, name), content);
  return env;
}

/** An environment whose profile has these settings. */
export function withSettings(settings: object): Record<string, string> {
  return withConfigFile(JSON.stringify({ profiles: { default: settings } }));
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
