#!/usr/bin/env bash
# Say what roofline says in one comment on a pull request, which every run writes anew.
#
#   post.sh PULL_REQUEST REPORT...     all words after the number go to `roofline report`
#
# The pictures go to a branch of their own (PICTURES, by default roofline-pictures), the text also to
# the summary of the step. Needs git with a remote `origin` that it may push to, gh with a token that
# may comment (GH_TOKEN), and what GitHub Actions sets. What it may not do becomes a warning.
set -euo pipefail

pull_request=${1:?usage: post.sh PULL_REQUEST REPORT...}
shift
branch=${PICTURES:-roofline-pictures}
folder=pull-$pull_request/$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT # a new address: no cache shows the old one
address=${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY/raw/$branch/$folder
author=${COMMENT_AUTHOR:-github-actions[bot]} # whose comment may be replaced: the owner of GH_TOKEN
export GIT_AUTHOR_NAME=roofline GIT_AUTHOR_EMAIL=roofline@localhost
export GIT_COMMITTER_NAME=roofline GIT_COMMITTER_EMAIL=roofline@localhost

tree=$(mktemp -d)
trap 'git worktree remove --force "$tree" 2>/dev/null || true; rm -rf "$tree"' EXIT

warn() { echo "::warning title=roofline::$1" >&2; }

# Put the pictures on top of the branch, or begin it; another job may have pushed meanwhile.
push() {
  local start
  for _ in 1 2 3 4 5; do
    if git fetch --quiet --depth 1 origin "refs/heads/$branch" 2>/dev/null; then
      start=FETCH_HEAD
    else
      start=$(git commit-tree -m "Pictures of pull requests" "$(git mktree </dev/null)") || return
    fi
    git worktree add --quiet --force --detach "$tree" "$start" || return
    rm -rf "${tree:?}/pull-$pull_request" # what the comment showed until now
    mkdir -p "$tree/$folder" &&
      cp pr/roofline.png pr/roofline-dark.png "$tree/$folder" &&
      git -C "$tree" add --all &&
      { git -C "$tree" diff --cached --quiet || # they lie there already, where a step runs twice
        git -C "$tree" commit --quiet --message "Pictures of pull request $pull_request"; } || return
    git -C "$tree" push --quiet origin "HEAD:refs/heads/$branch" && return
    git worktree remove --force "$tree"
  done
  return 1
}

# Of captures that are read in part the comment says so, and then the step fails (3).
write() {
  status=0
  rm -f pr/comment.md
  roofline report "$@" -o pr --force || status=$?
  [ -e pr/comment.md ] || exit "$status"
}

write "$@" --image-base "$address"
if ! push; then
  warn "no pictures: the job may not push to $branch (permissions: contents: write)"
  write "$@" --no-picture # the comment has bars in letters instead
fi
cat pr/comment.md >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"

# Replace our comment, which begins with the mark of `roofline report`, or write the first.
comment() {
  local issues=repos/$GITHUB_REPOSITORY/issues mark ids
  mark=$(head -n 1 pr/comment.md)
  ids=$(gh api --paginate "$issues/$pull_request/comments" --jq \
    ".[] | select(.user.login == \"$author\" and (.body | startswith(\"$mark\"))) | .id") || return
  if [ -n "$ids" ]; then
    gh api --silent --method PATCH "$issues/comments/${ids%%$'\n'*}" --field body=@pr/comment.md
  else
    gh api --silent --method POST "$issues/$pull_request/comments" --field body=@pr/comment.md
  fi
}

comment || warn "no comment: the job may not write it (permissions: pull-requests: write), as from a fork"
exit "$status"
