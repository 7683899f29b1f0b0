import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installed, root } from './client/installed.ts';
import { bareEnvironment } from './helpers/run.ts';

describe('the package', () => {
  it('installed from its tarball runs the main job, and brings along what asks the keychain and nothing else', () => {
    const modules = join(installed(), 'node_modules');
    const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
    // Offline, npm does without the optional one, and so does leadpipe.
    expect(['@napi-rs', 'leadpipe']).toEqual(expect.arrayContaining(names));
    expect(names).toContain('leadpipe');
    const args = ['search', 'company', 'seed-stage fintech in Berlin', '--limit', '3', '--local', '-q'];
    const env = bareEnvironment();
    const leads = execFileSync(join(modules, '.bin/leadpipe'), args, { env, encoding: 'utf8' });
    expect(leads.match(/Berlin/g)?.length).toBeGreaterThanOrEqual(3);
  }, 60_000);

  it('can be published by `npm run release` alone, so never without having been built and checked', () => {
    // Scripts that npm would run first can be switched off; the address is one where nobody listens.
    const registry = 'http://127.0.0.1:9/';
    const given = ['--registry', registry, `--${registry.slice(5)}:_authToken=none`, '--fetch-retries=0'];
    const { status, stderr } = spawnSync('npm', ['publish', '--ignore-scripts', ...given], {
      cwd: root,
      env: { ...process.env, ...bareEnvironment() },
      encoding: 'utf8',
    });
    expect(stderr).toContain('EPRIVATE');
    expect(status).not.toBe(0);
  });

  it('names no registry in its lock file', () => {
    expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(
      /"resolved"|https?:\/\/registry/,
    );
  });
});
