import * as v from 'valibot';
import { CREDENTIALS } from '../domain/repository.ts';
import { BOUNDS } from './bounds.ts';
import { cel, duration, gitRef, secretKeyRef, secretName } from './fields.ts';

const tokenAuthSchema = v.pipe(
  v.object({ secretRef: secretKeyRef('The Secret that holds the token.') }),
  v.description(
    'An access token, sent over https: as the password of HTTP basic authentication, or as it is if it begins with "Bearer ".',
  ),
);

const sshKeyAuthSchema = v.pipe(
  v.object({
    secretRef: secretKeyRef('The Secret that holds the private key, in OpenSSH or PEM form.'),
    knownHosts: v.optional(
      v.pipe(
        v.object({ secretRef: secretKeyRef('The Secret that holds the known_hosts lines.') }),
        v.description('Host keys to trust. Without it the host is not talked to.'),
      ),
    ),
    insecureIgnoreHostKey: v.optional(
      v.pipe(
        v.boolean(),
        v.description(
          'Whether to skip the check of the host key, so that whoever answers counts as the host. A condition says so.',
        ),
      ),
      false,
    ),
  }),
  cel({
    rule: '!has(self.knownHosts) || !has(self.insecureIgnoreHostKey) || !self.insecureIgnoreHostKey',
    message: 'knownHosts means nothing with insecureIgnoreHostKey: leave one of them out',
  }),
  v.description('A private key for ssh.'),
);

const githubAppAuthSchema = v.pipe(
  v.object({
    appId: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('ID of the GitHub App.')),
    installationId: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('ID of its installation.')),
    privateKeySecretRef: secretKeyRef('The Secret that holds the private key of the App, in PEM form.'),
    apiBaseURL: v.optional(
      v.pipe(
        v.string(),
        v.maxLength(BOUNDS.url),
        cel({ rule: "self.startsWith('https://')", message: 'must begin with https://' }),
        v.description('API of a GitHub Enterprise Server. Default: https://api.github.com.'),
      ),
    ),
  }),
  v.description('A GitHub App, where the operator is installed with githubApp.enabled.'),
);

const authSchema = v.pipe(
  v.object({
    token: v.optional(tokenAuthSchema),
    sshKey: v.optional(sshKeyAuthSchema),
    githubApp: v.optional(githubAppAuthSchema),
  }),
  cel({
    rule: '[has(self.token), has(self.sshKey), has(self.githubApp)].filter(x, x).size() == 1',
    message: 'exactly one of token, sshKey and githubApp must be given; leave auth out for a public repository',
  }),
  v.description('How to authenticate at the git host. Leave it out for a public repository.'),
);

/** A number of up to 16 bits, in RE2. */
const PORT = '0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

const repositorySchema = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(BOUNDS.url),
  cel(
    {
      rule: "self.matches('^(https?|ssh|git)://[^/]+/.*[^/].*$') || self.matches('^[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^/].*$')",
      message: 'must be a URL with https, http, ssh or git as its scheme, or user@host:path',
    },
    {
      rule: `!self.matches('(?i)${CREDENTIALS}')`,
      message:
        'must not hold credentials: put them into a Secret and name it in spec.git.auth; the name of a user can stay in an https or ssh URL',
    },
    {
      rule: "!self.matches('[\\\\x00-\\\\x20\\\\x7f]') && !self.matches('^ssh://-|@-|^[^/]*://-')",
      message: 'must not hold spaces or control characters, and neither user nor host may begin with a hyphen',
    },
    {
      rule: "!self.matches('^[^/]*://[^/]*([?#\\\\\\\\]|@[^/]*@)') && (!self.matches('^[^/]*://[^/]*%') || self.matches('^https?://([^/@%]|%40)*@[^/@%]*/'))",
      message:
        'must not hold %, ?, #, a backslash or a second @ before the path, except %40 in the user of an https URL: programs differ in what they read there',
    },
    {
      rule: "!self.matches('^[^/]*://([^/@]*@)?[^/@]*[^\\\\x00-\\\\x7f][^/@]*/')",
      message: 'must have a host in ASCII, in the form that begins with xn--: programs differ in what they look up',
    },
    {
      rule: `!self.contains('://') || self.matches('^[^/]*://([^/@]*@)?(\\\\[[0-9A-Fa-f:.]+\\\\]|[^:/@\\\\[\\\\]<>^|]+)(:(${PORT})?)?/')`,
      message:
        'must have a host name and, after a colon, a port of 0 to 65535 or nothing: the form user@host:path has no ssh:// in front',
    },
  ),
  v.description(
    'URL of the repository: https://…, http://…, ssh://…, git://… or user@host:path. A user in an https URL is the user name for the token. Slashes at the end are ignored.',
  ),
);

const verifySchema = v.pipe(
  v.object({
    mode: v.optional(
      v.pipe(
        v.picklist(['none', 'head', 'tag']),
        v.description('What must be signed: nothing, the commit, or the tag.'),
      ),
      'none',
    ),
    keysSecretRef: v.optional(
      v.pipe(
        v.object({ name: secretName('Name of the Secret.') }),
        v.description('The Secret whose values are the public keys to trust: SSH or OpenPGP.'),
      ),
    ),
  }),
  cel({
    rule: "self.mode == 'none' || has(self.keysSecretRef)",
    message: 'keysSecretRef must name the Secret with the trusted keys when mode is head or tag',
  }),
  v.description('Signature verification before anything is applied.'),
);

/** Git hosts that take commit statuses; Forgejo is one of those that speak Gitea's API. */
const STATUS_PROVIDERS = ['github', 'gitlab', 'gitea', 'bitbucket'] as const;
export type StatusProvider = (typeof STATUS_PROVIDERS)[number];

const commitStatusSchema = v.pipe(
  v.object({
    context: v.optional(
      v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(BOUNDS.statusContext),
        cel({
          rule: "self.matches('^([^{}\\\\x00-\\\\x1f\\\\x7f]|[{][{] *[.](Cluster|Namespace|Name) *[}][}])+$')",
          message:
            'may hold {{ .Cluster }}, {{ .Namespace }} and {{ .Name }}, and no other braces and no control characters',
        }),
        v.description(
          'Name of the status at the git host. It has to be different for each resource and cluster: hosts keep one status for each name.',
        ),
      ),
      '{{ .Cluster }}/{{ .Namespace }}/{{ .Name }}',
    ),
    provider: v.optional(
      v.pipe(
        v.picklist(STATUS_PROVIDERS),
        v.description(
          'Which API the host has; gitea also stands for Forgejo. Left out: by the host of spec.git.repo, where that is github.com, gitlab.com, bitbucket.org, codeberg.org or gitea.com, and github for a GitHub App.',
        ),
      ),
    ),
    secretRef: v.optional(
      secretKeyRef('The Secret that holds a token that may write commit statuses. Left out: that of the GitHub App.'),
    ),
    url: v.optional(
      v.pipe(
        v.string(),
        v.maxLength(BOUNDS.url),
        cel({
          rule: "self.matches('^https://[^/?#@%\\\\\\\\\\\\s]+(/[^?#\\\\\\\\\\\\s]*)?$')",
          message: 'must begin with https://, and hold no credentials, no ? and no #',
        }),
        v.description(
          "Base of the host's API, such as https://git.example.com/api/v1. The token is sent there. Left out: the usual one at the host of spec.git.repo, by https.",
        ),
      ),
    ),
  }),
  v.description('A status that is posted on the commit at the git host: whether all gateways have it.'),
);

/** `spec.git`: which repository and which ref, and how to get in. */
export const gitSchema = v.pipe(
  v.object({
    repo: repositorySchema,
    ref: gitRef(
      'What to follow: a branch, a tag, a full commit hash, a full ref name, or HEAD for the default branch. A short name that is both a tag and a branch is the tag.',
    ),
    auth: v.optional(authSchema),
    caSecretRef: v.optional(
      secretKeyRef('The Secret that holds the CA bundle (PEM) of the git host, of at most 64 KiB.'),
    ),
    verify: v.optional(verifySchema),
    submodules: v.optional(
      v.pipe(
        v.boolean(),
        v.description('Whether to fetch submodules. Without it a submodule in a mapped path is an error.'),
      ),
      false,
    ),
    commitStatus: v.optional(commitStatusSchema),
    timeout: v.optional(
      duration(
        'Maximum time for one fetch of an agent, and for one query of the controller, 5s to 24h. If omitted, a fetch has 1h and a query 20s. A query can end earlier if other namespaces have slow queries. Over HTTP and HTTPS, both end if they stall for five minutes.',
      ),
    ),
  }),
  cel(
    {
      rule: "!has(self.auth) || !self.repo.matches('^(http|git)://')",
      message: 'credentials are sent only over https or ssh: change spec.git.repo or leave spec.git.auth out',
    },
    {
      rule: "!has(self.auth) || !has(self.auth.sshKey) || !self.repo.matches('^https://')",
      message: 'sshKey needs an ssh repository (ssh://… or user@host:path), not https',
    },
    {
      rule: "!has(self.auth) || has(self.auth.sshKey) || self.repo.matches('^https://')",
      message: 'token and githubApp need an https repository',
    },
    {
      rule: '!has(self.commitStatus) || has(self.commitStatus.secretRef) || (has(self.auth) && has(self.auth.githubApp))',
      message: 'commitStatus needs a token: name its Secret in commitStatus.secretRef, or use a githubApp',
    },
    {
      rule: "!has(self.commitStatus) || has(self.commitStatus.url) || !self.repo.matches('^(http|git)://')",
      message:
        'the token of commitStatus is sent only over https: name the API of the host in commitStatus.url, or use an https or ssh repository',
    },
    {
      rule: "!has(self.commitStatus) || has(self.commitStatus.provider) || (has(self.auth) && has(self.auth.githubApp)) || self.repo.matches('^(?i)([a-z]+://)?([^/@]*@)?((ssh[.])?github[.]com|(altssh[.])?gitlab[.]com|(altssh[.])?bitbucket[.]org|codeberg[.]org|gitea[.]com)[:/]')",
      message:
        'commitStatus.provider must say which API the host has: github, gitlab, gitea (also for Forgejo) or bitbucket',
    },
  ),
  v.description('The repository and what to follow in it.'),
);
