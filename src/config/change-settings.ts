import { isObject } from '../json/object.ts';
import { changePrivateStore, type StoreContext } from './private-store.ts';
import { type SettingName, type SettingValue, settingsFile } from './settings.ts';

/** Sets a setting of a profile, which is made when it isn't there; undefined removes it. Throws as `changePrivateStore`. */
export async function changeSetting(
  context: StoreContext,
  profile: string,
  setting: SettingName,
  value: SettingValue | undefined,
): Promise<void> {
  await changePrivateStore(context, settingsFile, (content) => {
    const profiles = isObject(content.profiles) ? content.profiles : {};
    const own = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
    if (own === undefined && value === undefined) return content;
    const { [setting]: _, ...others } = isObject(own) ? own : {};
    const settings = value === undefined ? others : { ...others, [setting]: value };
    return { ...content, profiles: { ...profiles, [profile]: settings } };
  });
}

/** Makes a profile the one that is used where none is named. Throws as `changePrivateStore`. */
export async function switchProfile(context: StoreContext, profile: string): Promise<void> {
  await changePrivateStore(context, settingsFile, (content) => ({ ...content, profile }));
}
