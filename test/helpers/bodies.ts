/** What the service answers with, as the interface has it. */

export function contactResult(
  contact_type: string,
  objective: string,
  content: string | null,
  reference: string | null = null,
) {
  const [request, result] = [
    { contact_type, objective },
    { content, reference },
  ];
  return { object: 'contact_search_result', request, result, created_at: '2026-01-01T00:00:00Z' };
}

export function creditBalance(available_credits: number) {
  return { object: 'credit_balance', available_credits, updated_at: '2026-01-01 00:00:00' };
}

export function taskStatus(
  status: string,
  ready_count: number,
  verified_count = ready_count,
  stop_reason = status === 'done' ? 'limit' : '',
) {
  return { status: { status, ready_count, verified_count, stop_reason } };
}

/** A page of what is ready of a task: no more than `num` from `pts` on. */
export function taskPage<Entity>(
  leads_search_id: string,
  status: string,
  ready: readonly Entity[],
  { pts, num }: { readonly pts: number; readonly num: number },
  limit = 100,
) {
  const entities = ready.slice(pts, pts + num);
  const counts = { pts, num, count: entities.length, ready_count: ready.length, limit };
  return { object: 'entity_search_items', leads_search_id, status, ...counts, entities };
}
