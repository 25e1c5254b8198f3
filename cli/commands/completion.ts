import { type Command } from 'commander';
import { type Group, type Listed, oneOf } from '../command';

/** `waypost completion`: a script with which a shell completes commands. */

export function addCompletion(program: Group, { syntax, summary }: Listed): void {
  program.leaf(
    syntax,
    {
      summary,
      example: 'completion bash > ~/.local/share/bash-completion/completions/waypost',
    },
    ({ world }, _, shell = '') => {
      world.out(script(wordsOf(program.command), oneOf(shell, 'The shell', ['bash', 'zsh'])));
      return Promise.resolve();
    },
  );
}

/** Lists the possible next words for each path of commands. */
function wordsOf(command: Command, path = ''): [path: string, words: string[]][] {
  const names = command.commands.map((one) => one.name());
  const options = command.options.flatMap(({ long }) => long ?? []);
  const below = command.commands.flatMap((one) => wordsOf(one, `${path} ${one.name()}`.trim()));
  return [[path, [...names, ...options, '--help']], ...below];
}

function script(words: [string, string[]][], shell: 'bash' | 'zsh'): string {
  const cases = words
    .map(([path, follow]) => `    '${path}') words='${follow.join(' ')}' ;;`)
    .join('\n');
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_waypost() {
  local path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
    -*) ;;
    *) [ "\${#path}" -lt 40 ] && path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  while :; do
    case "$path" in
${cases}
    *) words='' ;;
    esac
    [ -n "$words" ] || [ -z "$path" ] && break
    case "$path" in *' '*) path="\${path% *}" ;; *) path='' ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _waypost waypost
`;
}
