/** Pure: `1 lead`, `2 leads`. */
export function countOf(count: number, unit = 'lead'): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Pure: the singular or the plural of a word, for this count. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

const stopReasons: Readonly<Record<string, string>> = {
  source_finished: 'no more matches',
  no_data_timeout: 'the search found nothing new for a long time',
  rejected_streak: 'too many results in a row did not match',
};

/** Pure: why a search ended, in words. An unknown reason stays as the service wrote it. */
export function toStopReason(reason: string, limit?: number): string {
  if (reason === 'limit') return limit === undefined ? 'limit reached' : `limit of ${limit} reached`;
  return Object.hasOwn(stopReasons, reason) ? (stopReasons[reason] as string) : `stopped: ${reason}`;
}

/** Warnings about odd things that did no harm, one line each. */
export function createWarnings(max = 10) {
  const first: string[] = [];
  let more = 0;
  return {
    add(line: string): void {
      if (first.length < max) first.push(line);
      else more++;
    },
    /** The first warnings, and the number of the others, because there can be a million. */
    all: () => (more === 0 ? first : [...first, `and ${countOf(more, 'more warning')}`]),
  };
}

/** UTF-16 code units. */
const longest = 200;

/** Pure: a text of the user on one line, cut with an ellipsis if it is too long. */
export function shortened(text: string): string {
  const line = text
    .slice(0, 4 * longest)
    .replace(/\s+/g, ' ')
    .trim();
  if (line.length <= longest) return line;
  const cut = line.slice(0, longest - 1).toWellFormed();
  return `${cut.replace(/\ufffd$/, '').trimEnd()}…`;
}
