import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { boundedKeys, cel, destinationPath, integer, sourcePath, text } from './fields.ts';

const patchSchema = v.pipe(
  v.object({
    file: text('File to patch, or a glob, relative to the mapping; empty if the mapping is a single file.'),
    set: v.pipe(
      v.record(v.string(), text('New value: a JSON value, else taken as a string. May hold templates.')),
      v.minEntries(1),
      v.maxEntries(BOUNDS.patchValues),
      boundedKeys(BOUNDS.text),
      v.description('Dotted paths inside the JSON file, and the values to put there.'),
    ),
  }),
  v.description('Changes to a JSON file that leave every other byte as it is.'),
);

const mappingSchema = v.pipe(
  v.object({
    source: sourcePath('File or folder in the repository. May hold templates such as {{ .GatewayName }}.'),
    destination: destinationPath('Where it goes, relative to the root of the data volume. May hold templates.'),
    type: v.optional(
      v.pipe(v.picklist(['dir', 'file']), v.description('What the source must be. Left out, the repository decides.')),
    ),
    required: v.optional(
      v.pipe(v.boolean(), v.description('Whether a missing source is an error. If false, what was there stays.')),
      true,
    ),
    template: v.optional(v.pipe(v.boolean(), v.description('Whether text files are rendered as templates.')), false),
    patches: v.optional(
      v.pipe(v.array(patchSchema), v.maxLength(BOUNDS.patches), v.description('JSON patches, in order.')),
    ),
  }),
  v.description('One file or folder of the repository and its place in the data volume.'),
);

const excludePatternsSchema = v.pipe(
  v.array(text('A pattern as in .gitignore, relative to the repository root; {a,b} is understood as well.')),
  v.maxLength(BOUNDS.list),
  v.description('Files that are never delivered. A file that matches and is not owned by the agent is never touched.'),
);

const varsSchema = v.pipe(
  v.record(v.string(), text('Value of the variable.')),
  v.maxEntries(BOUNDS.list),
  cel({
    rule: "self.all(key, key.matches('^[A-Za-z_][A-Za-z0-9_]{0,62}$'))",
    message: 'names of variables must be identifiers: letters, digits and underscores, not beginning with a digit',
  }),
  v.description('Variables for templates: {{ .Vars.name }}.'),
);

const syncPeriodSchema = integer(5, 86_400, 'Seconds between two checks of the files on disk against what was synced.');
const designerSessionPolicySchema = v.pipe(
  v.picklist(['proceed', 'wait', 'fail']),
  v.description('What to do while somebody edits on the gateway (preset ignition).'),
);
const maxFailuresSchema = integer(
  0,
  1_000,
  'Failed syncs in a row after which the pod is not ready any more, until one succeeds. 0: it stays ready. A change from or to 0 takes effect when the pod is recreated.',
);
const dryRunSchema = v.pipe(v.boolean(), v.description('Whether to report what would change, and change nothing.'));
const pausedSchema = v.pipe(v.boolean(), v.description('Whether to leave the files as they are.'));

const onConflictSchema = v.pipe(
  v.picklist(['takeOver', 'refuse']),
  v.description(
    'What to do with a file that was there before, with other content. takeOver replaces it, keeps it in .sync-agent/taken-over, and restores it when nothing is mapped there any more. refuse changes nothing and lists such files.',
  ),
);
const driftSchema = v.pipe(
  v.picklist(['repair', 'report', 'ignore']),
  v.description(
    'What to do with a delivered file that somebody changed or removed. repair writes it again, at most three times in a row; report lists it; ignore does nothing. A commit that changes the file delivers it in any case.',
  ),
);
const pruneSchema = v.pipe(
  v.boolean(),
  v.description('Whether delivered files that are no longer mapped are deleted. If false, nothing is ever deleted.'),
);
const allowEmptySchema = v.pipe(
  v.boolean(),
  v.description(
    'Whether a commit, or patterns, that leave no file at all may delete everything. If false, that is an error.',
  ),
);
const groupWriteSchema = v.pipe(
  v.boolean(),
  v.description(
    'Whether the group may write: files have mode 0664 or 0775, new folders 0775. For a gateway whose user shares only the fsGroup with the agent.',
  ),
);

/** `spec.sync.defaults`. */
export const defaultsSchema = v.pipe(
  v.object({
    excludePatterns: v.optional(excludePatternsSchema),
    vars: v.optional(varsSchema),
    syncPeriod: v.optional(syncPeriodSchema, 30),
    designerSessionPolicy: v.optional(designerSessionPolicySchema, 'proceed'),
    startPolicy: v.optional(
      v.pipe(
        v.picklist(['requireSync', 'useLastGood']),
        v.description(
          'Whether a starting gateway waits for the first sync, or starts with the files of an earlier one if that fails: while git or the API server is unavailable, or the GatewaySync or the profile is missing.',
        ),
      ),
      'requireSync',
    ),
    maxFailures: v.optional(maxFailuresSchema, 0),
    dryRun: v.optional(dryRunSchema, false),
    paused: v.optional(pausedSchema, false),
    onConflict: v.optional(onConflictSchema, 'takeOver'),
    drift: v.optional(driftSchema, 'repair'),
    prune: v.optional(pruneSchema, true),
    allowEmpty: v.optional(allowEmptySchema, false),
    groupWrite: v.optional(groupWriteSchema, false),
  }),
  v.description('What a profile uses where it says nothing itself.'),
);

const profileSchema = v.pipe(
  v.object({
    mappings: v.pipe(
      v.array(mappingSchema),
      v.minLength(1),
      v.maxLength(BOUNDS.mappings),
      v.description('What goes where. A later mapping lies over an earlier one.'),
    ),
    excludePatterns: v.optional(excludePatternsSchema),
    vars: v.optional(varsSchema),
    syncPeriod: v.optional(syncPeriodSchema),
    dryRun: v.optional(dryRunSchema),
    designerSessionPolicy: v.optional(designerSessionPolicySchema),
    maxFailures: v.optional(maxFailuresSchema),
    paused: v.optional(pausedSchema),
    onConflict: v.optional(onConflictSchema),
    drift: v.optional(driftSchema),
    prune: v.optional(pruneSchema),
    allowEmpty: v.optional(allowEmptySchema),
    groupWrite: v.optional(groupWriteSchema),
  }),
  v.description('One set of mappings, chosen by a pod with the annotation sync.io/profile.'),
);

/** `spec.sync`: what goes where. */
export const syncSchema = v.pipe(
  v.object({
    defaults: v.optional(defaultsSchema, {}),
    profiles: v.pipe(
      v.record(v.string(), profileSchema),
      v.minEntries(1),
      v.maxEntries(BOUNDS.profiles),
      cel({
        rule: "self.all(key, key.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'))",
        message: 'names of profiles must be lower-case letters, digits and hyphens, at most 63',
      }),
      v.description('Profiles by name. A pod without the annotation sync.io/profile uses the one named default.'),
    ),
  }),
  v.description('What goes where.'),
);

export type Profile = v.InferOutput<typeof profileSchema>;
export type Mapping = v.InferOutput<typeof mappingSchema>;
/** A mapping before the defaults are set. */
export type MappingInput = v.InferInput<typeof mappingSchema>;
export type SyncDefaults = v.InferOutput<typeof defaultsSchema>;
