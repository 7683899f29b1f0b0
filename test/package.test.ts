import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installed, root } from './client/installed.ts';
import { bareEnvironment, temporaryFolder } from './helpers/run.ts';

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
  });

  it('has the files that npm chooses: all that a run needs, and none of the developers', async () => {
    const { toContentFaults } = await import(join(root, 'scripts/package-contents.js'));
    const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      env: { ...process.env, ...bareEnvironment() },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [{ files }] = JSON.parse(listed) as [{ files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(toContentFaults(paths)).toEqual([]);
    expect(toContentFaults([...paths, 'src/main.ts', 'x.tgz'].filter((path) => path !== 'LICENSE'))).toEqual([
      'LICENSE is missing',
      'src/main.ts does not belong there',
      'x.tgz does not belong there',
    ]);
  });

  it('names the repository that it is published from, and until then has one placeholder', async () => {
    const { toPublished } = await import(join(root, 'scripts/package-contents.js'));
    const source = readFileSync(join(root, 'package.json'), 'utf8');
    expect(source.match(/OWNER/g)).toHaveLength(1);
    const published = toPublished(source, 'acme/leads');
    expect(JSON.parse(published)).toEqual({
      ...JSON.parse(source),
      repository: { type: 'git', url: 'git+https://github.com/acme/leads.git' },
      homepage: 'https://github.com/acme/leads#readme',
      bugs: 'https://github.com/acme/leads/issues',
    });
    expect(() => toPublished(source, 'acme')).toThrow('is not the owner and the name');
  });

  it('continues with the checks if the programs for some tests could not be installed', () => {
    const folder = temporaryFolder();
    for (const [name, script] of Object.entries({ 'apt-get': 'exit 100', id: 'echo 0' })) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    const { status, stdout } = spawnSync('bash', [join(root, 'scripts/debian-parts.sh')], {
      env: { PATH: `${folder}:${process.env.PATH}` },
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: 'apt-get failed: tests that need missing programs are skipped.\n',
    });
  });

  it('is published by workflows whose actions are pinned by hash', () => {
    const folder = join(root, '.github/workflows');
    const uses = readdirSync(folder).flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(/uses: (.*)/g),
    ]);
    expect(uses.length).toBeGreaterThan(3);
    for (const [, action] of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/);
  });

  it('names no registry in its lock file', () => {
    expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(
      /"resolved"|https?:\/\/registry/,
    );
  });
});
