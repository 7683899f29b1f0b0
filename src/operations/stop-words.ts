const stopWords: Readonly<Record<string, string>> = {
  source_finished: 'no more matches',
  no_data_timeout: 'the search found nothing new for a long time',
  rejected_streak: 'too many results in a row did not match',
};

/** Pure: why a search came to its end. A reason that is not known stands as it came. */
export function toStopWords(reason: string, limit?: number): string {
  if (reason === 'limit') return limit === undefined ? 'limit reached' : `limit of ${limit} reached`;
  return Object.hasOwn(stopWords, reason) ? (stopWords[reason] as string) : `stopped: ${reason}`;
}
