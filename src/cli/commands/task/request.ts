import { type Command, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { type CreateTaskRequest, entityTypes } from '../../../contract/types.ts';
import { checkTaskEntityType, toCreateTaskRequest } from '../../../requests/entity-search.ts';
import {
  addEntitySearchOptions,
  type EntitySearchOptions,
  readEntitySearchInput,
} from '../../options/entity-search.ts';
import {
  addConnectionOptions,
  addPaidOptions,
  addRecordOptions,
  type ConnectionOptions,
  inputNames,
  type PaidOptions,
  type RecordOptions,
} from '../../options/options.ts';

/** Options of both commands that create a task. */
export interface TaskRequestOptions
  extends ConnectionOptions,
    PaidOptions,
    RecordOptions,
    EntitySearchOptions {
  readonly enableWebSearch?: true;
}

/** Adds what is to be found. */
export function addTaskSearchOptions(command: Command): Command {
  return addEntitySearchOptions(command, entityTypes, [
    new Option(
      '--enable-web-search',
      'also search the open web: slower and more expensive; needed for xiaohongshu and wechat',
    ),
  ]);
}

/** Adds the rest of what `TaskRequestOptions` holds. */
export function addTaskCallOptions(command: Command): Command {
  return addConnectionOptions(addPaidOptions(addRecordOptions(command)));
}

/** Reads and checks what is to be created, before anything is sent. Throws UsageError. */
export async function readTaskRequest(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRequestOptions,
): Promise<CreateTaskRequest> {
  const enable_web_search = options.enableWebSearch === true;
  // Before standard input is read for a type that could not be used.
  checkTaskEntityType(entityType, enable_web_search, inputNames);
  const input = await readEntitySearchInput(context, objective, options);
  return toCreateTaskRequest(entityType, { ...input, enable_web_search }, inputNames);
}
