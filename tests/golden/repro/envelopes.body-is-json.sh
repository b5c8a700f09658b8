#!/bin/sh
# envelopes.body-is-json, for splash-pages: Where a body is stated, the answer to a request that was carried out has one, and all of it parses as JSON.
# expected: a JSON body
# received: a body that is no JSON \x00\x1b[31m\x85\u202e
# trace:    4bf92f3577b34da60000000000000003 (the run's own request; this script's requests carry none)
#
# This needs curl, and the key of an account in CONTRACT_API_KEY; CURL_OPTIONS may hold more, such as -k. It creates
# records of its own, shows the failure and deletes what it created; it changes nothing that has not shown its mark.
# With contract-tests installed, it exits with 1 if the rule is broken, 0 if it is fixed, 125 if that does not show.
# The run has not tried it, so it says only that the rule is broken, or nothing.
base=https://links.example.com/prefix
base=${BASE_URL:-$base}
[ "${CONTRACT_API_KEY:-}" ] || { echo 'CONTRACT_API_KEY is not set; set it to the API key of the account' >&2; exit 125; }
mark=${MARK:-ct$$x$(date +%S)}
upper=$(printf %s "$mark" | tr a-z A-Z)
made= theirs= own=
dir=$(mktemp -d) || exit 125
hide() {  # writes a header to a file, as everybody on a machine sees the arguments of its commands; its name
  headers=$(mktemp "$dir/header.XXXXXX") && printf '%s\n' "$1" >"$headers" && echo "$headers"
}
key=$(hide "Authorization: Bearer $CONTRACT_API_KEY")
api() { curl -gsS --max-time 30 ${CURL_OPTIONS:-} -H @"$key" "$@"; }
step() {  # prints an answer, and keeps it under a title that no answer can hold
  title=$1; shift
  printf '\n--- %s\n' "$title"
  printf '\n--- %s %s\n' "${dir##*/}" "$title" >>"$dir/answers"
  "$@" -i | tee -a "$dir/answers"
}
mine() {  # whether a record shows the mark, or has shown it and was renamed here; none has an empty id
  [ "$1" ] || return 1
  case " $own " in *" $1 "*) return 0 ;; esac
  api -o "$dir/looked-at" "$base/api/splash-pages/$1" && grep -qi "$mark" "$dir/looked-at" &&
    [ "$(tr ',{' '\n\n' <"$dir/looked-at" | grep -c '"id" *:')" = 1 ] && own="$own $1"  # else it may be another's
}
absent() {  # whether a read was answered, and shows no record
  [ "$1" ] || return 1
  status=$(api -o "$dir/gone" -w '%{http_code}' "$base/api/splash-pages/$1") || return 1
  case $status in 404 | 410 | 2??) ;; *) return 1 ;; esac
  ! grep -q '"id"' "$dir/gone"
}
forget() { own=$(printf ' %s ' "$own" | sed "s/ $1 / /"); }
skipped() { printf '\n--- step %s is skipped: its record does not show the mark of this script\n' "$1"; }
id_in() {  # the id in the data of an answer, not in what is nested there
  if grep -q '^HTTP/' "$1"; then sed -n '/^HTTP/,$p' "$1" | sed '1,/^\r*$/d'; else cat "$1"; fi | tr '\r\n' '  ' |
    sed 's/^.*"data"[^{]*{//; s/{[^{}]*}//g; s/{[^{}]*}//g; s/{[^{}]*}//g' |
    grep -o '"id" *: *[0-9]*' | head -n 1 | grep -o '[0-9]*$'
}
create() { step "$@" | tee "$dir/answer"; id=$(id_in "$dir/answer"); }
remove() {
  mine "$1" && { forget "$1"; api -o "$dir/gone" -X DELETE "$base/api/splash-pages/$1"; }
  mine "$1" && echo "left behind: $base/api/splash-pages/$1" >&2
}
foreign() {  # whether another account has no record of its own under an id: accounts may share ids
  id=$1; shift
  [ "$id" ] || return 1
  "$@" "$base/api/splash-pages/$id" >"$dir/foreign"
  grep -qi "$mark" "$dir/foreign" || ! grep -q '"id"' "$dir/foreign"
}
tidy() {
  for id in $made; do remove "$id"; done
  key=$(hide "Authorization: Bearer ${CONTRACT_SECOND_API_KEY:-}")
  for id in $theirs; do remove "$id"; done
  rm -r "$dir"
}
trap tidy EXIT
trap 'exit 125' HUP INT TERM
step "1. GET /api/splash-pages/9 <-- this answer" api "$base/api/splash-pages/9"
printf '\n--- expected: %s\n--- received: %s, in the run\n' 'a JSON body' 'a body that is no JSON \x00\x1b[31m \u202e'
command -v contract-tests >/dev/null || { echo 'no verdict: contract-tests is not installed'; exit 125; }
contract-tests verdict "$dir/answers" --base-url "$base" --mark "$mark" <<'PLAN'
{"rule": "envelopes.body-is-json", "resource": "splash-pages", "it": 1, "steps": [{"operation": "read", "identity": "the account's key", "expects": "success"}], "public_base_url": null, "tried": false}
PLAN
