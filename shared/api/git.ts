import * as v from 'valibot';
import { CREDENTIALS, USER_ESCAPE } from '../domain/git/repository.ts';
import { VERSION_RANGE } from '../domain/git/version-range.ts';
import { BOUNDS } from './bounds.ts';
import { cel, duration, flag, gitRef, list, name, object, oneOf, secretKeyRef, secretName, text } from './fields.ts';

const tokenAuthSchema = object(
  'Access token, sent over HTTPS as the password of HTTP basic authentication, or unchanged if it begins with "Bearer ".',
  { secretRef: secretKeyRef('Secret that contains the token.') },
);

const sshKeyAuthSchema = v.pipe(
  object('Private key for SSH.', {
    secretRef: secretKeyRef('Secret that contains the private key, in OpenSSH or PEM format.'),
    knownHosts: v.optional(
      object('Trusted host keys. Required unless insecureIgnoreHostKey is true.', {
        secretRef: secretKeyRef('Secret that contains the known_hosts lines.'),
      }),
    ),
    insecureIgnoreHostKey: v.optional(
      flag(
        'Skip the check of the host key, so any server can impersonate the git server. The condition SSHHostKeyVerification warns about it.',
      ),
      false,
    ),
  }),
  cel({
    rule: '!has(self.knownHosts) || !has(self.insecureIgnoreHostKey) || !self.insecureIgnoreHostKey',
    message: 'knownHosts has no effect with insecureIgnoreHostKey; remove one of them',
  }),
);

const githubAppAuthSchema = object('GitHub App. Requires the chart value githubApp.enabled.', {
  appId: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('ID of the GitHub App.')),
  installationId: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('ID of its installation.')),
  privateKeySecretRef: secretKeyRef('Secret that contains the private key of the App, in PEM format.'),
  apiBaseURL: v.optional(
    v.pipe(
      text(
        'URL of the API of GitHub, such as https://github.example.com/api/v3. Required for a GitHub Enterprise Server. If omitted, it is derived from the host of spec.git.repo for github.com and SUBDOMAIN.ghe.com.',
        BOUNDS.url,
      ),
      cel({ rule: "self.startsWith('https://')", message: 'must begin with https://' }),
    ),
  ),
  repositories: v.optional(
    list(
      v.pipe(v.string(), v.maxLength(100), v.regex(/^[A-Za-z0-9._-]+$/)),
      BOUNDS.list,
      'Names of further repositories that the token can read, without the owner, such as private submodules. The App must be installed on them.',
    ),
  ),
});

const authSchema = v.pipe(
  object('Credentials for the git server. Omit this for a public repository.', {
    token: v.optional(tokenAuthSchema),
    sshKey: v.optional(sshKeyAuthSchema),
    githubApp: v.optional(githubAppAuthSchema),
  }),
  cel({
    rule: '[has(self.token), has(self.sshKey), has(self.githubApp)].filter(x, x).size() == 1',
    message: 'must contain exactly one of token, sshKey, and githubApp; omit auth for a public repository',
  }),
);

/** A number of up to 16 bits, in RE2. */
const PORT = '0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

const repositorySchema = v.pipe(
  name(
    'URL of the repository: https://…, http://…, ssh://…, git://…, or user@host:path. A user in an https URL is the user name for the token. Trailing slashes are ignored.',
    BOUNDS.url,
  ),
  cel(
    {
      rule: "self.matches('^(https?|ssh|git)://[^/]+/.*[^/].*$') || self.matches('^[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^/].*$')",
      message: 'must be a URL with the scheme https, http, ssh, or git, or have the form user@host:path',
    },
    {
      rule: `!self.matches('(?i)${CREDENTIALS}')`,
      message:
        'must not contain credentials; store them in a Secret and specify it in spec.git.auth (an https or ssh URL can contain a user name)',
    },
    {
      rule: "!self.matches('[\\\\x00-\\\\x20\\\\x7f]') && !self.matches('^ssh://-|@-|^[^/]*://-')",
      message: 'must not contain spaces or control characters, or a user or host that begins with a hyphen',
    },
    {
      rule: `!self.matches('^[^/]*://[^/]*([?#\\\\\\\\]|@[^/]*@)') && (!self.matches('^[^/]*://[^/]*%') || self.matches('^https?://([^/@%]|${USER_ESCAPE})*@[^/@%]*/'))`,
      message:
        'must not contain %, ?, #, a backslash, or a second @ before the path, except a percent-encoded character such as %2B in the user of an https URL, because programs parse them differently',
    },
    {
      rule: "!self.matches('^[^/]*://([^/@]*@)?[^/@]*[^\\\\x00-\\\\x7f][^/@]*/')",
      message: 'must have an ASCII host; write an internationalized name in its xn-- form',
    },
    {
      rule: `!self.contains('://') || self.matches('^[^/]*://([^/@]*@)?(\\\\[[0-9A-Fa-f:.]+\\\\]|[^:/@\\\\[\\\\]<>^|]+)(:(${PORT})?)?/')`,
      message:
        'must have a host and, after a colon, a port from 0 to 65535 or nothing; write user@host:path without ssh://',
    },
  ),
);

const verifySchema = v.pipe(
  object('Signature verification of a commit or tag before it is delivered.', {
    mode: v.optional(
      oneOf(['none', 'head', 'tag'], 'Object that must be signed: none, the commit (head), or the tag.'),
      'none',
    ),
    keysSecretRef: v.optional(
      object('Secret whose values are the trusted public keys (SSH or OpenPGP).', {
        name: secretName('Name of the Secret.'),
      }),
    ),
  }),
  cel({
    rule: "self.mode == 'none' || has(self.keysSecretRef)",
    message: 'mode head or tag requires trusted keys; specify their Secret in keysSecretRef',
  }),
);

/** Git servers that accept commit statuses; `gitea` includes Forgejo. */
const STATUS_PROVIDERS = ['github', 'gitlab', 'gitea', 'bitbucket', 'azuredevops'] as const;
export type StatusProvider = (typeof STATUS_PROVIDERS)[number];

const commitStatusSchema = object(
  'Status that the controller posts on the commit, on the git server: the progress of its delivery.',
  {
    context: v.optional(
      v.pipe(
        name(
          'Name of the status on the git server. It must be unique per resource and cluster, because a git server keeps one status per name.',
          BOUNDS.statusContext,
        ),
        cel({
          rule: "self.matches('^([^{}\\\\x00-\\\\x1f\\\\x7f]|[{][{] *[.](Cluster|Namespace|Name) *[}][}])+$')",
          message:
            'must not contain control characters, or braces other than {{ .Cluster }}, {{ .Namespace }}, and {{ .Name }}',
        }),
      ),
      '{{ .Cluster }}/{{ .Namespace }}/{{ .Name }}',
    ),
    provider: v.optional(
      oneOf(
        STATUS_PROVIDERS,
        'API of the git server; gitea includes Forgejo. If omitted, it is github for a GitHub App, and derived from the host of spec.git.repo for github.com, gitlab.com, bitbucket.org, codeberg.org, gitea.com, dev.azure.com, and visualstudio.com.',
      ),
    ),
    secretRef: v.optional(
      secretKeyRef(
        'Secret that contains a token with permission to write commit statuses. If omitted, the token of the GitHub App is used.',
      ),
    ),
    url: v.optional(
      v.pipe(
        text(
          "Base URL of the git server's API, such as https://git.example.com/api/v1. The token is sent to it. If omitted, the provider's usual URL on the host of spec.git.repo, over HTTPS.",
          BOUNDS.url,
        ),
        cel({
          rule: "self.matches('^https://[^/?#@%\\\\\\\\\\\\s]+(/[^?#\\\\\\\\\\\\s]*)?$')",
          message: 'must begin with https://, and must not contain credentials, ?, or #',
        }),
      ),
    ),
  },
);

const versionRangeSchema = v.pipe(
  name(
    'Follow the newest tag in this range of versions, such as ~1.4, ">=1.4 <2" or "*", as npm reads it. Tags can begin with v, or with spec.git.tagPrefix. Prereleases count only if the range names one, such as ">=1.5.0-0".',
    BOUNDS.range,
  ),
  cel({
    rule: `self.matches('${VERSION_RANGE.replaceAll('\\', '\\\\')}')`,
    message:
      'must be a range of versions as npm reads it, such as ~1.4, ">=1.4 <2", "1.2 - 1.4" or "1.x || 2.x", with spaces instead of commas; a prerelease needs three numbers, such as ">=1.5.0-0"',
  }),
);

const tagPrefixSchema = v.pipe(
  name(
    'Text before the version in the names of tags: site- for site-v1.6.0. With it, only these tags are followed, and spec.git.semver is compared with the rest of their names.',
    BOUNDS.tagPrefix,
  ),
  cel({
    rule: "self.matches('^[^\\\\x00-\\\\x20\\\\x7f~^:?*\\\\[\\\\\\\\/.-][^\\\\x00-\\\\x20\\\\x7f~^:?*\\\\[\\\\\\\\]*$') && !self.matches('[0-9]$|[.][.]|@[{]|//|/[.]|[.]lock/')",
    message: 'must be the beginning of tag names such as site-, without a digit at its end',
  }),
);

/** `spec.git`: the repository, the ref, and the credentials. */
export const gitSchema = v.pipe(
  object('Repository, ref, and credentials.', {
    repo: repositorySchema,
    ref: v.optional(
      gitRef(
        'Ref to follow: a branch, a tag, a full commit hash, a full ref name, or HEAD for the default branch. A short name of both a tag and a branch is the tag.',
      ),
    ),
    semver: v.optional(versionRangeSchema),
    tagPrefix: v.optional(tagPrefixSchema),
    auth: v.optional(authSchema),
    caSecretRef: v.optional(
      secretKeyRef('Secret that contains the CA bundle (PEM) of the git server, of at most 64 KiB.'),
    ),
    verify: v.optional(verifySchema),
    submodules: v.optional(flag('Fetch submodules. If false, a submodule in a mapped path is an error.'), false),
    commitStatus: v.optional(commitStatusSchema),
    timeout: v.optional(
      duration(
        'Maximum time for one fetch of an agent, 5s to 24h. If omitted, 1h. Over HTTP and HTTPS, a fetch ends earlier if it stalls for five minutes. A query of the controller has 60s.',
      ),
    ),
  }),
  cel(
    {
      rule: 'has(self.ref) != has(self.semver)',
      message: 'exactly one of ref and semver must be given',
    },
    {
      rule: '!has(self.tagPrefix) || has(self.semver)',
      message: 'tagPrefix requires semver; specify a range of versions, such as "*", or remove tagPrefix',
    },
    {
      rule: "!has(self.auth) || !self.repo.matches('^(http|git)://')",
      message: 'credentials are sent only over https or ssh; change spec.git.repo, or remove spec.git.auth',
    },
    {
      rule: "!has(self.auth) || !has(self.auth.sshKey) || !self.repo.matches('^https://')",
      message: 'sshKey requires an ssh repository; change spec.git.repo to ssh://… or user@host:path',
    },
    {
      rule: "!has(self.auth) || has(self.auth.sshKey) || self.repo.matches('^https://')",
      message: 'token and githubApp require an https repository; change spec.git.repo to https://…',
    },
    {
      rule: '!has(self.commitStatus) || has(self.commitStatus.secretRef) || (has(self.auth) && has(self.auth.githubApp))',
      message: 'commitStatus requires a token; specify its Secret in commitStatus.secretRef, or use a githubApp',
    },
    {
      rule: "!has(self.commitStatus) || has(self.commitStatus.url) || !self.repo.matches('^(http|git)://')",
      message:
        'the token of commitStatus is sent only over https; specify the https URL of the API in commitStatus.url, or use an https or ssh repository',
    },
    {
      rule: "!has(self.commitStatus) || has(self.commitStatus.provider) || (has(self.auth) && has(self.auth.githubApp)) || self.repo.matches('^(?i)([a-z]+://)?([^/@]*@)?((ssh[.])?github[.]com|(altssh[.])?gitlab[.]com|(altssh[.])?bitbucket[.]org|codeberg[.]org|gitea[.]com|(ssh[.])?dev[.]azure[.]com|[a-z0-9-]+[.]visualstudio[.]com)[:/]')",
      message:
        'commitStatus.provider is required for this host; set it to github, gitlab, gitea (also for Forgejo), bitbucket, or azuredevops',
    },
  ),
);
