/**
 * Every resource, event and request body of the service, transcribed from its interface description.
 * Names are the wire's own. Enumerations are closed (a new value is a fault) or open (a new value is passed
 * through); each says which.
 */

/** Closed. Accepted by streaming Entity Search and by the task form. */
export const streamEntityTypes = [
  'person',
  'company',
  'twitter_creator',
  'youtube_creator',
  'tiktok_creator',
  'instagram_creator',
  'shopify_store',
] as const;

/** Closed. Accepted by the task form alone, and only with `enable_web_search: true`. */
export const webSearchEntityTypes = ['xiaohongshu', 'wechat'] as const;

/** Closed. Everything the task form accepts. */
export const entityTypes = [...streamEntityTypes, ...webSearchEntityTypes] as const;

/** Closed. */
export const contactTypes = ['email', 'phone'] as const;

/** Closed. */
export const extractionTypes = [
  'x_followers',
  'x_following',
  'github_user_followers',
  'github_user_following',
  'github_repo_stargazers',
  'github_repo_contributors',
  'ins_followers',
  'ins_following',
  'tiktok_followers',
  'tiktok_following',
  'web2list',
] as const;

/** Open: a task in an unknown state is waited for. `done` and `error` are terminal. */
export const taskStates = ['created', 'running', 'done', 'error'] as const;
export const terminalTaskStates = ['done', 'error'] as const satisfies readonly TaskState[];

/** Pure: whether a task in this state brings nothing more. */
export function hasEnded(state: string | null | undefined): boolean {
  return terminalTaskStates.some((one) => one === state);
}

/** Open: clients treat new values as forward-compatible data. */
export const knownStopReasons = ['limit', 'source_finished', 'no_data_timeout', 'rejected_streak'] as const;

export type StreamEntityType = (typeof streamEntityTypes)[number];
export type EntityType = (typeof entityTypes)[number];
export type ContactType = (typeof contactTypes)[number];
export type ExtractionType = (typeof extractionTypes)[number];
export type TaskState = (typeof taskStates)[number] | (string & {});

/** A result item of Entity Search. Unknown fields are kept, absent ones tolerated. */
export interface Entity {
  name?: string;
  /** Keys vary by entity type; `website` and `linkedin_url` occur. */
  links?: Record<string, unknown>;
  description?: string;
  /** `score` is open: its values are not documented. */
  score?: { score?: string; reason?: string };
  /** Present only when enrichment was requested; keyed by the requested field. */
  enrich_fields?: Record<string, { content?: string; reference?: string }>;
  [field: string]: unknown;
}

/** Body of POST /v1/entity-search. */
export interface EntitySearchRequest {
  entity_type: StreamEntityType;
  objective: string;
  limit?: number;
  enrich_fields?: string[];
  dedup_service_leads?: string[];
  dedup_custom_leads?: string[];
}

/** Body of POST /v1/entity-search/create_task. */
export interface CreateTaskRequest extends Omit<EntitySearchRequest, 'entity_type'> {
  entity_type: EntityType;
  enable_web_search?: boolean;
}

/** Answer of create_task. Other members are not documented. */
export interface CreatedTask {
  leads_search_id: string;
}

export interface EntitySearchBatch {
  object: 'entity_search_batch';
  leads_search_id?: string;
  /** Starts at 1 and rises by one per batch. */
  batch_index: number;
  /** Entities in this batch. */
  count: number;
  /** Entities so far. */
  cum_count: number;
  entities: Entity[];
}

export interface EntitySearchDone {
  object: 'entity_search_done';
  leads_search_id?: string;
  cum_count: number;
  /** Open, see `knownStopReasons`. */
  stop_reason: string;
  finish: true;
}

/** The literal payload of a stream's last frame. */
export const streamSentinel = '[DONE]';

/** The `status` member of a status response. */
export interface EntitySearchStatus {
  status: TaskState;
  /** Results available now. */
  ready_count: number;
  /** Accepted plus rejected candidates, never below `ready_count`. */
  verified_count: number;
  stop_reason?: string;
}

/** Answer of status. */
export interface EntitySearchStatusResponse {
  status: EntitySearchStatus;
}

/** A fetch page. The next position is `pts + count`, never `pts + num`. */
export interface EntitySearchItems {
  object: 'entity_search_items';
  leads_search_id: string;
  status: TaskState;
  pts: number;
  num: number;
  count: number;
  ready_count: number;
  limit: number;
  entities: Entity[];
}

export interface ContactSearchRequest {
  contact_type: ContactType;
  objective: string;
}

export interface ContactSearchResult {
  object: 'contact_search_result';
  request: { contact_type: ContactType; objective: string };
  /** `content` null, empty or white space: not found. */
  result: { content: string | null; reference: string | null };
  /** UTC, RFC 3339. */
  created_at: string;
}

export interface DeepSearchRequest {
  query: string;
}

export interface DeepSearchResponse {
  success: boolean;
  /** Any non-null JSON; the present form is `{ Result, Citations }`, which clients must not require. */
  answer: unknown;
}

export interface EnrichRequest {
  entity_context: string;
  /** A JSON Schema whose root is an object with at least one property. */
  enrich_fields: Record<string, unknown>;
}

export interface EnrichResponse {
  success: boolean;
  answer: Record<string, unknown>;
}

/** The texts of `answer.answer` when `success` is false. */
export const noResultTexts = {
  enrich: 'No result generated from enrich',
  deepSearch: 'No result generated from deep search',
} as const;

export interface ExtractRequest {
  type: ExtractionType;
  target: string;
  instruction?: string | null;
  limit?: number;
}

export interface ExtractResponse {
  success: boolean;
  /** Items, or the reason of the failure when `success` is false. */
  data: Record<string, unknown>[] | string;
  metadata: { type: ExtractionType; target: string; instruction: string | null; limit: number };
}

export interface CreditBalance {
  object: 'credit_balance';
  /** Credits usable for new requests; what running requests have reserved is not in it. */
  available_credits: number;
  /** `YYYY-MM-DD HH:MM:SS`; omitted when unavailable. */
  updated_at?: string;
  next_credit_refresh_at?: string;
}

/** Other members of the envelope are not documented; the type's place in it is not either. */
export interface ErrorEnvelope {
  error: { message: string; type?: string; [member: string]: unknown };
}
