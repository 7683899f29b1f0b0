import { expect, it } from 'vitest';
import { inputNames } from '../../src/cli/options/inputs.ts';
import { toExtractRequest } from '../../src/requests/lookups.ts';

const isRepository = (target: string): boolean => {
  try {
    return toExtractRequest({ type: 'github_repo_contributors', target }, inputNames).target === target;
  } catch (error) {
    expect(String(error)).toContain('is not a GitHub repository');
    return false;
  }
};

it.each([
  'acme/rocket',
  '@acme/rocket.js',
  'https://github.com/acme/rocket',
  'http://www.github.com/acme/rocket/tree/main?tab=readme',
  'github.com/acme/rocket/',
  'git@github.com:acme/rocket.git',
  'git+ssh://git@github.com/acme/rocket',
  'https://git.acme.example/acme/rocket',
])('%s can be a repository', (target) => {
  expect(isRepository(target)).toBe(true);
});

it.each([
  'acme',
  '@acme',
  'acme/',
  '/rocket',
  'https://github.com/acme',
  'github.com/acme/',
  'https://github.com',
  '/',
])('%s has no owner or no name of a repository', (target) => {
  expect(isRepository(target)).toBe(false);
  // An account has one part.
  expect(toExtractRequest({ type: 'github_user_followers', target }, inputNames)).toMatchObject({ target });
});
