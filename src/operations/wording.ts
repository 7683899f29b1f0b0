/** Pure: `1 lead`, `2 leads`. */
export function countOf(count: number, unit = 'lead'): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Pure: the word for so many of something that was named. */
export function toThem(count: number, one = 'it', many = 'them'): string {
  return count === 1 ? one : many;
}

const stopReasons: Readonly<Record<string, string>> = {
  source_finished: 'no more matches',
  no_data_timeout: 'the search found nothing new for a long time',
  rejected_streak: 'too many results in a row did not match',
};

/** Pure: why a search came to its end. A reason that is not known stands as it came. */
export function toStopReason(reason: string, limit?: number): string {
  if (reason === 'limit') return limit === undefined ? 'limit reached' : `limit of ${limit} reached`;
  return Object.hasOwn(stopReasons, reason) ? (stopReasons[reason] as string) : `stopped: ${reason}`;
}

/** What was odd and did no harm, a line each. */
export function createWarnings(most = 10) {
  const first: string[] = [];
  let more = 0;
  return {
    add(line: string): void {
      if (first.length < most) first.push(line);
      else more++;
    },
    /** The first of them, and how many more there were: a service can be odd a million times. */
    all: () => (more === 0 ? first : [...first, `and ${more} more ${more === 1 ? 'warning' : 'warnings'}`]),
  };
}
