import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What fault-preload.mjs has noted of a run: each call in its order. Texts are bytes, as latin1. A sync counts when it has
 * `synced`, for what had been written when the `sync` began.
 */
export type Call =
  | { readonly call: 'open'; readonly path: string; readonly isEmpty?: true }
  | { readonly call: 'write'; readonly path: string; readonly position: number | null; readonly text: string }
  | { readonly call: 'truncate'; readonly path: string; readonly length: number }
  | { readonly call: 'sync' | 'mkdir' | 'remove' | 'removed'; readonly path: string }
  | { readonly call: 'synced'; readonly path: string; readonly since: number }
  | { readonly call: 'rename' | 'renamed' | 'link'; readonly path: string; readonly to: string }
  | { readonly call: 'send'; readonly socket: number; readonly text: string }
  | { readonly call: 'print'; readonly text: string };

export function readTrace(file: string): Call[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Every file below a folder, by its path, with its bytes as latin1. */
export function snapshotOf(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const one of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(one.parentPath, one.name);
    if (one.isFile()) files.set(path, readFileSync(path, 'latin1'));
  }
  return files;
}

/** Restores a folder from a snapshot. */
export function restore(folder: string, files: ReadonlyMap<string, string>): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, 'latin1');
  }
}

interface Node {
  text: string;
  /** The files that a power cut leaves. */
  synced: string;
  readonly isFolder?: true;
}

/** What survives on a part of the disk: all writes; all names, but only synced content; or only synced names and content. */
export type Extent = 'written' | 'named' | 'synced';

/**
 * A disk, as far as a run has come. A power cut leaves of each file what was synced, and of each folder the names that were
 * in it when it was synced.
 */
export class Disk {
  readonly #names = new Map<string, Node>();
  readonly #syncedNames = new Map<string, Node>();
  /** Of a sync that has begun: what it puts on the disk. */
  readonly #begun = new Map<number, () => void>();

  constructor(files: ReadonlyMap<string, string>) {
    for (const [path, text] of files) {
      const node = { text, synced: text };
      this.#names.set(path, node);
      this.#syncedNames.set(path, node);
    }
  }

  take(call: Call, at: number): void {
    switch (call.call) {
      case 'open': {
        const there = this.#names.get(call.path);
        if (there === undefined) this.#names.set(call.path, { text: '', synced: '' });
        else if (call.isEmpty) there.text = '';
        return;
      }
      case 'write': {
        const node = this.#names.get(call.path);
        if (node === undefined) return;
        const { text } = node;
        const from = call.position ?? text.length;
        node.text = text.slice(0, from) + call.text + text.slice(from + call.text.length);
        return;
      }
      case 'truncate': {
        const node = this.#names.get(call.path);
        if (node !== undefined) node.text = node.text.slice(0, call.length);
        return;
      }
      case 'mkdir':
        this.#names.set(call.path, { text: '', synced: '', isFolder: true });
        return;
      case 'renamed':
        for (const [path, node] of below(this.#names, call.path)) {
          this.#names.delete(path);
          this.#names.set(call.to + path.slice(call.path.length), node);
        }
        return;
      case 'link': {
        const node = this.#names.get(call.path);
        if (node !== undefined) this.#names.set(call.to, node);
        return;
      }
      case 'removed':
        for (const [path] of below(this.#names, call.path)) this.#names.delete(path);
        return;
      case 'sync':
        this.#begun.set(at, this.#toSync(call.path));
        return;
      case 'synced':
        this.#begun.get(call.since)?.();
        return;
    }
  }

  #toSync(path: string): () => void {
    const node = this.#names.get(path);
    if (node !== undefined && !node.isFolder) {
      const { text } = node;
      return () => {
        node.synced = text;
      };
    }
    const inFolder = (all: Map<string, Node>) => [...all].filter(([one]) => dirname(one) === path);
    const now = inFolder(this.#names);
    return () => {
      for (const [one] of inFolder(this.#syncedNames)) this.#syncedNames.delete(one);
      for (const [one, there] of now) this.#syncedNames.set(one, there);
    };
  }

  textOf(path: string): string | undefined {
    const node = this.#names.get(path);
    return node?.isFolder ? undefined : node?.text;
  }

  syncedTextOf(path: string): string {
    return this.#names.get(path)?.synced ?? '';
  }

  /** Whether all bytes of a file are on the disk. */
  isSynced(path: string): boolean {
    const node = this.#names.get(path);
    return node === undefined || node.synced === node.text;
  }

  /** The files of a part of the disk that are left. */
  left(extent: Extent, isPart: (path: string) => boolean): Map<string, string> {
    const names = extent === 'synced' ? this.#syncedNames : this.#names;
    const files = [...names].filter(
      ([path, { isFolder }]) => !isFolder && isPart(path) && (extent !== 'synced' || this.#isReached(path)),
    );
    return new Map(files.map(([path, { synced, text }]) => [path, extent === 'written' ? text : synced]));
  }

  /** Whether the folders above are on the disk, as far as they are new. */
  #isReached(path: string): boolean {
    const folder = dirname(path);
    if (folder === path) return true;
    return this.#names.has(folder) === this.#syncedNames.has(folder) && this.#isReached(folder);
  }
}

const below = (all: Map<string, Node>, path: string): [string, Node][] =>
  [...all].filter(([one]) => one === path || one.startsWith(`${path}/`));
