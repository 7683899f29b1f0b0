/** What was odd and did no harm, a line each. */
export interface Warnings {
  add(line: string): void;
  /** The first of them, and how many more there were: a service can be odd a million times. */
  all(): readonly string[];
}

export function createWarnings(most = 10): Warnings {
  const first: string[] = [];
  let more = 0;
  return {
    add(line) {
      if (first.length < most) first.push(line);
      else more++;
    },
    all: () => (more === 0 ? first : [...first, `and ${more} more ${more === 1 ? 'warning' : 'warnings'}`]),
  };
}
