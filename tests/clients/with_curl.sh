#!/usr/bin/env bash
# A client with curl, as an operator would have it: it creates a domain, changes it and deletes it.
set -euo pipefail
host=curl.example.com
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Sends one request; its status is in $status, and the body in the file $answer.
send() {
  : >"$answer"
  status=$(curl --silent --location --max-time 10 --header "Authorization: Bearer $API_KEY" \
    --output "$answer" --write-out '%{http_code}' "$@") || status=000
}

# Sends what may be sent again, until there is an answer that means something.
call() {
  for _ in $(seq 6); do
    send "$@"
    [[ $status == 000 || $status == 429 || $status == 5?? ]] || return 0
    sleep 1
  done
  exit 1
}

succeed() {
  call "$@"
  [[ $status == 2?? ]] || { cat "$answer" >&2; exit 1; }
}

# The id of the domain, or nothing, in $id.
find_id() {
  local page=1 pages=1
  id=
  while ((page <= pages)); do
    succeed "$MOCK_URL/api/domains/?results_per_page=100&page=$page"
    read -r pages id < <(python3 - "$answer" "$host" "$id" <<'PYTHON'
import json, sys
file, host, known = sys.argv[1:]
body = json.load(open(file))
print(body["meta"]["total_pages"], next((each["id"] for each in body["data"] if each["host"] == host), known))
PYTHON
    )
    page=$((page + 1))
  done
}

is_there() { find_id && [[ -n $id ]]; }
is_gone() { find_id && [[ -z $id ]]; }
is_changed() { succeed "$MOCK_URL/api/domains/$id" && grep --quiet 'example.com\\\?/start' "$answer"; }

# Reads may lag behind writes.
wait_until() {
  for _ in $(seq 20); do
    if "$@"; then return; fi
    sleep 0.3
  done
  echo "what was written does not show" >&2
  exit 1
}

# A create is sent again only if the domain is not there.
for _ in $(seq 6); do
  send --form "host=$host" "$MOCK_URL/api/domains"
  [[ $status == 2?? ]] && break
  [[ $status == 4?? && $status != 429 ]] && { cat "$answer" >&2; exit 1; }
  sleep 1
  is_there && break
done
wait_until is_there
domain=$MOCK_URL/api/domains/$id
succeed --form custom_index_url=https://example.com/start "$domain"
wait_until is_changed
call --request DELETE "$domain"
[[ $status == 2?? || $status == 404 ]] || exit 1
wait_until is_gone
