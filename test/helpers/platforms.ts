/** Signals that end a run with 130 or 143, modes and owners of files, FIFOs, links, and folders that can't be written. */
const posix = [
  'test/canary/**',
  'test/chaos/**',
  'test/durability/**',
  'test/hostile/bombs.test.ts',
  'test/shell/**',
  'test/cli/{auth,config,history,local,long-answers,open-stdin,places,process,purchase,resume-search,resume-task,task,task-process}.test.ts',
  'test/config/**',
  'test/local-service/{load,processes}.test.ts',
  'test/network/{certificates,proxies,time-limits}.test.ts',
  'test/output/file-sink.test.ts',
];

/** /proc, /dev/full, GNOME's keychain, and the `script` of util-linux, which makes terminals. */
const linux = [
  'test/canary/**',
  'test/durability/damage.test.ts',
  'test/hostile/bombs.test.ts',
  'test/keychain/**',
  'test/terminal/**',
  'test/cli/{flood,history,long-answers,places,process,purchase,task}.test.ts',
];

/** The tests that are left out on a system, because it lacks what they need. */
export function leftOutOn(platform: NodeJS.Platform): readonly string[] {
  if (platform === 'linux') return [];
  return platform === 'win32' ? [...posix, ...linux] : linux;
}
