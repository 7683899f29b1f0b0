import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of a stream after which what was made of them is collected. */
const atOnce = 2 * 1024 * 1024;
/** Each time of so many, old objects are collected too: a few of the young ones have become old meanwhile. */
const old = 32;

/** Without options it collects everything: Node 20 knows no type for that. */
type Collect = (options?: { readonly type: 'minor' }) => void;

/**
 * To be told of the bytes of a long stream that were passed on. V8 counts the small objects of a piece, and not its bytes, which
 * are outside of its heap: left alone it collects them seldom, and a long stream takes twice the memory of a short one. When it
 * is asked to, it looks at the young objects, of which few are left: a quarter of a millisecond.
 */
export function createCollecting(): (bytes: number) => void {
  let passed = 0;
  let times = 0;
  let collect: Collect | undefined;
  return (bytes) => {
    passed += bytes;
    if (passed < atOnce) return;
    passed = 0;
    collect ??= findCollector();
    if (++times % old === 0) collect();
    else collect({ type: 'minor' });
  };
}

/** Node gives it to contexts that are made while this flag is set. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  // So little is left each time that to wake other threads for it takes longer.
  setFlagsFromString('--no-parallel-scavenge');
  return collect;
}
