import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import {
  absolutePath,
  boundedKeys,
  cel,
  destinationPath,
  fileMode,
  flag,
  integer,
  list,
  map,
  name,
  object,
  oneOf,
  sourcePath,
  text,
} from './fields.ts';

/**
 * Values of fields that a mapping omits. They aren't defaults of the schema, because server-side apply owns a list as a
 * whole: with a default in an item, the stored object differs from its manifest, and GitOps tools report drift.
 */
export const MAPPING_DEFAULTS = { required: true, template: false } as const;

const patchSchema = object('Changes to a JSON file that keep all its other bytes unchanged.', {
  file: text('File to patch, or a glob, relative to the mapping. Empty if the mapping is a single file.'),
  set: v.pipe(
    map(
      text('New value: JSON, or otherwise a string. Can contain templates.'),
      BOUNDS.patchValues,
      'Dotted paths inside the JSON file, with their new values.',
    ),
    v.minEntries(1),
    boundedKeys(BOUNDS.text),
  ),
});

const mappingSchema = object('File or directory in the repository, and its destination in the data volume.', {
  source: sourcePath('File or directory in the repository. Can contain templates such as {{ .GatewayName }}.'),
  destination: destinationPath('Path relative to the root of the data volume. Can contain templates.'),
  type: v.optional(
    oneOf(['dir', 'file'], 'Required type of the source. If omitted, files and directories are accepted.'),
  ),
  required: v.optional(
    flag('Report an error if the source is missing. If false, files delivered earlier are kept. If omitted, true.'),
  ),
  template: v.optional(flag('Render text files as templates. If omitted, false.')),
  mode: v.optional(
    fileMode(
      'Permissions of the files, as four octal digits in quotes, such as "0600" or "0440". The owner must be able to read them, and others must not be able to write them. Replaces the executable bit in git, and the effect of groupWrite. Directories are unchanged. If omitted, 0644, and 0755 for executable files.',
    ),
  ),
  publish: v.optional(
    oneOf(
      ['files', 'atomic'],
      'Replacement of earlier files. files replaces each file by itself. atomic makes the destination a symbolic link to a complete tree below .sync-agent, so that readers see either all old or all new files. The source must then be a directory, and the destination must not be the root of the data volume. If omitted, files.',
    ),
  ),
  patches: v.optional(list(patchSchema, BOUNDS.patches, 'JSON patches, in order.')),
  links: v.optional(
    oneOf(
      ['keep'],
      'Action for symbolic links in the mapping. keep delivers each as a link with the same text, which must stay in the data volume, or in the destination if publish is atomic, or begin with one of linkPrefixes. If omitted, links of the profile.',
    ),
  ),
  linkPrefixes: v.optional(
    list(
      absolutePath('Absolute path in the container of the gateway.'),
      BOUNDS.list,
      'Absolute paths that links of the mapping can lead to or below, if links is keep. If omitted, every absolute link is an error.',
    ),
  ),
});

const checksSchema = list(
  object('Files that must be valid JSON, YAML, or TOML.', {
    files: name('Glob of paths on the data volume, such as **/*.json.', BOUNDS.text),
    format: oneOf(['json', 'yaml', 'toml'], 'Required format of the files.'),
  }),
  BOUNDS.checks,
  'Checks of files before they are delivered, after templates and patches. If a file fails, nothing is delivered.',
);

/** Settings of a profile. Those that it omits are inherited from the defaults. */
const settings = {
  preset: oneOf(
    ['none', 'ignition'],
    'Patterns for a known product, before excludePatterns. ignition excludes what a gateway writes for itself: .resources/, .uuid, **/config/local/, **/config/resources/local/, and thumbnail.png. Does not imply spec.gateway.reload.preset.',
  ),
  excludePatterns: list(
    text('Pattern as in .gitignore, relative to the repository root. {a,b} is supported.'),
    BOUNDS.list,
    "Files that are never delivered. Matching files that the agent doesn't own are never touched.",
  ),
  checks: checksSchema,
  vars: v.pipe(
    map(text('Value of the variable.'), BOUNDS.list, 'Variables for templates, such as {{ .Vars.name }}.'),
    cel({
      rule: "self.all(key, key.matches('^[A-Za-z_][A-Za-z0-9_]{0,62}$'))",
      message:
        'names of variables must consist of at most 63 letters, digits, and underscores, and not begin with a digit',
    }),
  ),
  syncPeriod: integer(5, 86_400, 'Seconds between two comparisons of the data volume with the delivered files.'),
  dryRun: flag('Only report changes, without making them.'),
  designerSessionPolicy: oneOf(
    ['proceed', 'wait', 'fail'],
    'Action while a user has a Designer session open for a project that changes (spec.gateway.reload.preset: ignition). See also spec.gateway.ignition.designerTimeout.',
  ),
  maxFailures: integer(
    0,
    1_000,
    'Consecutive failed syncs after which the pod is no longer ready, until a sync succeeds. If 0, the pod is always ready. A change from or to 0 takes effect when the pod is recreated.',
  ),
  paused: flag('Stop changing files.'),
  links: oneOf(
    ['follow', 'refuse'],
    'Action for symbolic links in mapped paths. follow delivers the file or directory of the same commit that a link points to. refuse reports an error.',
  ),
  onConflict: oneOf(
    ['takeOver', 'refuse'],
    "Action for an existing file with different content that wasn't delivered. takeOver replaces it, and keeps it in .sync-agent/taken-over under its path with the suffix .kept. refuse changes nothing and lists such files.",
  ),
  drift: oneOf(
    ['repair', 'report', 'ignore'],
    'Action for a delivered file that was changed or removed on the data volume. repair rewrites it, at most three consecutive times; report lists it; ignore does nothing. A commit that changes the file is always delivered.',
  ),
  prune: flag('Delete delivered files that are no longer mapped. If false, nothing is ever deleted.'),
  allowEmpty: flag(
    'Allow a commit or pattern that leaves no files to delete all delivered files. If false, this is an error.',
  ),
  groupWrite: flag(
    'Make delivered files writable for the group: files have mode 0664 or 0775, new directories 0775. For gateways whose user shares only the fsGroup with the agent.',
  ),
};

const optionalSettings = v.partial(v.object(settings)).entries;

/** `spec.sync.defaults`. */
export const defaultsSchema = object('Defaults for fields that a profile omits.', {
  ...optionalSettings,
  syncPeriod: v.optional(settings.syncPeriod, 30),
  dryRun: v.optional(settings.dryRun, false),
  designerSessionPolicy: v.optional(settings.designerSessionPolicy, 'proceed'),
  startPolicy: v.optional(
    oneOf(
      ['requireSync', 'useLastGood'],
      'Start of a gateway before the first sync. requireSync waits for it. useLastGood starts with the files of an earlier sync if git or the API server is unavailable, or the GatewaySync or profile is missing.',
    ),
    'requireSync',
  ),
  maxFailures: v.optional(settings.maxFailures, 0),
  paused: v.optional(settings.paused, false),
  links: v.optional(settings.links, 'follow'),
  onConflict: v.optional(settings.onConflict, 'takeOver'),
  drift: v.optional(settings.drift, 'repair'),
  prune: v.optional(settings.prune, true),
  allowEmpty: v.optional(settings.allowEmpty, false),
  groupWrite: v.optional(settings.groupWrite, false),
});

const profileSchema = object('Set of mappings that a pod selects with the annotation sync.io/profile.', {
  mappings: v.pipe(
    list(
      mappingSchema,
      BOUNDS.mappings,
      'Mappings of sources to destinations. A later mapping overrides an earlier one.',
    ),
    v.minLength(1),
  ),
  ...optionalSettings,
});

/** `spec.sync`: profiles and their defaults. */
export const syncSchema = object('Files to deliver, and their destinations.', {
  defaults: v.optional(defaultsSchema, {}),
  profiles: v.pipe(
    map(
      profileSchema,
      BOUNDS.profiles,
      'Profiles by name. A pod without the annotation sync.io/profile uses the profile named default.',
    ),
    v.minEntries(1),
    cel({
      rule: "self.all(key, key.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'))",
      message:
        'names of profiles must consist of at most 63 lower-case letters, digits, and hyphens, and begin and end with a letter or digit',
    }),
  ),
});

export type Profile = v.InferOutput<typeof profileSchema>;
export type Mapping = v.InferOutput<typeof mappingSchema>;
export type Check = v.InferOutput<typeof checksSchema>[number];
export type SyntaxFormat = Check['format'];
export type SyncDefaults = v.InferOutput<typeof defaultsSchema>;
