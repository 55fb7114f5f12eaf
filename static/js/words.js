// The words of scripts, in the reader's language where the page brought a catalogue.
export const gettext = (text) => window.gettext?.(text) ?? text;
export const ngettext = (one, many, count) => window.ngettext?.(one, many, count) ?? (count === 1 ? one : many);
// "%(name)s" stands for a value.
export const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));
