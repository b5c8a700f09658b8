<?php

/**
 * Link management API: splash pages, custom domains and notification handlers.
 *
 * `php server.php PORT` prepares a throw-away SQLite database, runs PHP's built-in
 * server with this same file as its router script and stops it on SIGTERM or SIGINT.
 */

declare(strict_types=1);

const PAGE_SIZES = [10, 25, 50, 100, 250, 500, 1000];
const DEFAULT_PAGE_SIZE = 25;

/** Per handler type: form field => key in `settings`. */
const HANDLER_SETTINGS = [
    'email' => ['email' => 'email'],
    'webhook' => ['webhook' => 'url'],
    'slack' => ['slack' => 'url'],
    'discord' => ['discord' => 'url'],
    'telegram' => ['telegram' => 'bot_token', 'telegram_chat_id' => 'chat_id'],
    'microsoft_teams' => ['microsoft_teams' => 'url'],
];

const RESOURCES = [
    'splash-pages' => [
        'table' => 'splash_pages', 'collection' => 'projects',
        'shown' => 'id, name, color, last_datetime, datetime',
        'fields' => [
            'name' => 'required', 'title' => 'text', 'logo' => 'file', 'favicon' => 'file', 'opengraph' => 'file',
            'description' => 'text', 'secondary_button_name' => 'text', 'secondary_button_url' => 'text',
            'custom_css' => 'text', 'custom_js' => 'text', 'ads_header' => 'text', 'ads_footer' => 'text',
            'link_unlock_seconds' => 'integer', 'auto_redirect' => 'boolean',
        ],
    ],
    'domains' => [
        'table' => 'domains', 'collection' => 'domains',
        'shown' => 'id, scheme, host, custom_index_url, is_enabled, last_datetime, datetime',
        'fields' => ['host' => 'required', 'custom_index_url' => 'text', 'custom_not_found_url' => 'text'],
    ],
    'notification-handlers' => [
        'table' => 'notification_handlers', 'collection' => 'notification-handlers',
        'shown' => 'id, type, name, settings, is_enabled, last_datetime, datetime',
        'fields' => [
            'name' => 'required', 'type' => 'type', 'email' => 'text', 'webhook' => 'text', 'slack' => 'text',
            'discord' => 'text', 'telegram' => 'text', 'telegram_chat_id' => 'text', 'microsoft_teams' => 'text',
            'is_enabled' => 'boolean',
        ],
    ],
];

const SCHEMA = <<<'SQL'
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, api_key TEXT NOT NULL UNIQUE);
    CREATE TABLE splash_pages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL REFERENCES accounts (id),
        name TEXT NOT NULL, color TEXT NOT NULL, title TEXT, logo BLOB, favicon BLOB, opengraph BLOB,
        description TEXT, secondary_button_name TEXT, secondary_button_url TEXT, custom_css TEXT, custom_js TEXT,
        ads_header TEXT, ads_footer TEXT, link_unlock_seconds INTEGER, auto_redirect INTEGER,
        last_datetime TEXT, datetime TEXT NOT NULL
    );
    CREATE TABLE domains (
        id INTEGER PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL REFERENCES accounts (id),
        scheme TEXT NOT NULL DEFAULT 'https://', host TEXT NOT NULL, custom_index_url TEXT NOT NULL DEFAULT '',
        custom_not_found_url TEXT NOT NULL DEFAULT '', is_enabled INTEGER NOT NULL DEFAULT 0,
        last_datetime TEXT, datetime TEXT NOT NULL
    );
    CREATE TABLE notification_handlers (
        id INTEGER PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL REFERENCES accounts (id),
        type TEXT NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL DEFAULT '{}',
        is_enabled INTEGER NOT NULL DEFAULT 1, last_datetime TEXT, datetime TEXT NOT NULL
    );
    INSERT INTO sqlite_sequence (name, seq) VALUES ('splash_pages', 140), ('domains', 3100), ('notification_handlers', 57);
    SQL;

final class ApiError extends RuntimeException
{
    public function __construct(public readonly int $status, string $title, public readonly string $header = 'Vary: Authorization')
    {
        parent::__construct($title);
    }
}

function connect(string $dir): PDO
{
    $options = [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC, PDO::ATTR_TIMEOUT => 15];
    return new PDO("sqlite:$dir/links.sqlite", null, null, $options);
}

/** @param array<int|string, mixed> $params */
function query(PDO $db, string $sql, array $params = []): PDOStatement
{
    $statement = $db->prepare($sql);
    $statement->execute($params);
    return $statement;
}

/** @param array<string, mixed> $values */
function insert(PDO $db, string $table, array $values): int
{
    $columns = array_keys($values);
    query($db, "INSERT INTO $table (" . implode(', ', $columns) . ') VALUES (:' . implode(', :', $columns) . ')', $values);
    return (int) $db->lastInsertId();
}

/** @param array<string, mixed> $body */
function send(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json; charset=utf-8');
    $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
    echo json_encode($body, $flags);
}

function authenticate(PDO $db): int
{
    $header = $_SERVER['HTTP_AUTHORIZATION'] ?? '';
    if (preg_match('/^Bearer +(\S+)\s*\z/i', $header, $match) === 1) {
        $id = query($db, 'SELECT id FROM accounts WHERE api_key = ?', [$match[1]])->fetchColumn();
        if ($id !== false) {
            return (int) $id;
        }
    }
    throw new ApiError(401, 'A valid API key is needed.', 'WWW-Authenticate: Bearer');
}

/** @param array<string, string> $fields
 *  @return array<string, string|int|null> the submitted fields only */
function read_form(array $fields, bool $creating): array
{
    check_form();
    $values = [];
    foreach ($fields as $field => $kind) {
        if ($kind === 'file') {
            $values += read_upload($field);
            continue;
        }
        if (!isset($_POST[$field]) && !isset($_FILES[$field])) {
            if ($creating && in_array($kind, ['required', 'type'], true)) {
                throw new ApiError(422, "The field $field is required.");
            }
            continue;
        }
        $value = $_POST[$field] ?? null;
        if (!is_string($value) || isset($_FILES[$field]) || preg_match('//u', $value) !== 1) {
            throw new ApiError(422, "The field $field must be UTF-8 text.");
        }
        $parsed = match ($kind) {
            'required' => $value !== '' ? $value : false,
            'type' => isset(HANDLER_SETTINGS[$value]) ? $value : false,
            'integer' => $value !== '' ? filter_var($value, FILTER_VALIDATE_INT) : null,
            'boolean' => filter_var($value, FILTER_VALIDATE_BOOLEAN, FILTER_NULL_ON_FAILURE) ?? 'unknown',
            default => $value,
        };
        if ($kind === 'boolean' ? !is_bool($parsed) : $parsed === false) {
            throw new ApiError(422, "The field $field has no valid value.");
        }
        $values[$field] = is_bool($parsed) ? (int) $parsed : $parsed;
    }
    return $values;
}

/** @return array<string, string> the content under the field's name, or nothing when no file was chosen */
function read_upload(string $field): array
{
    $error = $_FILES[$field]['error'] ?? UPLOAD_ERR_NO_FILE;
    if ($error === UPLOAD_ERR_NO_FILE && ($_POST[$field] ?? '') === '') {
        return [];
    }
    if ($error !== UPLOAD_ERR_OK) {
        throw new ApiError($error === UPLOAD_ERR_INI_SIZE ? 413 : 422, "The field $field must be a file of at most 32 MB.");
    }
    return [$field => (string) file_get_contents($_FILES[$field]['tmp_name'])];
}

/** @param array<string, mixed> $row
 *  @return array<string, mixed> */
function present(array $row): array
{
    if (isset($row['is_enabled'])) {
        $row['is_enabled'] = (bool) $row['is_enabled'];
    }
    if (isset($row['settings'])) {
        $stored = json_decode($row['settings'], true);
        $settings = $row['type'] === 'email' ? ['email' => ''] : [];
        foreach (HANDLER_SETTINGS[$row['type']] as $field => $key) {
            if (isset($stored[$field])) {
                $settings[$key] = $stored[$field];
            }
        }
        $row['settings'] = (object) $settings;
    }
    return $row;
}

/** @return array<string, mixed> */
function find(PDO $db, string $resource, int $account, string $id): array
{
    ['table' => $table, 'shown' => $shown] = RESOURCES[$resource];
    $valid = preg_match('/^[1-9][0-9]{0,17}\z/', $id) === 1;
    $row = $valid ? query($db, "SELECT $shown FROM $table WHERE id = ? AND account_id = ?", [(int) $id, $account])->fetch() : false;
    return $row !== false ? $row : throw new ApiError(404, 'There is no such record.');
}

function index(PDO $db, string $resource, int $account): void
{
    ['table' => $table, 'collection' => $collection, 'shown' => $shown] = RESOURCES[$resource];
    $number = static fn (string $key): int => is_string($_GET[$key] ?? null) && ctype_digit($_GET[$key]) ? (int) $_GET[$key] : 0;
    $size = $number('results_per_page');
    $size = in_array($size, PAGE_SIZES, true) ? $size : DEFAULT_PAGE_SIZE;
    $db->beginTransaction();
    $total = (int) query($db, "SELECT COUNT(*) FROM $table WHERE account_id = ?", [$account])->fetchColumn();
    $pages = max(1, (int) ceil($total / $size));
    $page = min(max(1, $number('page')), $pages);
    $sql = "SELECT $shown FROM $table WHERE account_id = ? ORDER BY id DESC LIMIT ? OFFSET ?";
    $rows = query($db, $sql, [$account, $size, ($page - 1) * $size])->fetchAll();
    $db->commit();
    $host = $_SERVER['HTTP_HOST'] ?? $_SERVER['SERVER_NAME'] . ':' . $_SERVER['SERVER_PORT'];
    $link = static fn (int $n): string => "http://$host/api/$collection?page=$n";
    send(200, [
        'data' => array_map('present', $rows),
        'meta' => ['page' => $page, 'results_per_page' => $size, 'total' => $total, 'total_pages' => $pages],
        'links' => [
            'first' => $link(1), 'last' => $link($pages), 'self' => $link($page),
            'next' => $page < $pages ? $link($page + 1) : null, 'prev' => $page > 1 ? $link($page - 1) : null,
        ],
    ]);
}

function create(PDO $db, string $resource, int $account): void
{
    ['table' => $table, 'fields' => $fields] = RESOURCES[$resource];
    unset($fields['is_enabled']);
    $values = read_form($fields, true);
    if ($resource === 'splash-pages') {
        $values['color'] = sprintf('#%06x', random_int(0, 0xffffff));
    }
    if ($resource === 'notification-handlers') {
        $values = pack_settings($values, (string) $values['type'], []);
    }
    $id = insert($db, $table, ['account_id' => $account, 'datetime' => gmdate('Y-m-d H:i:s')] + $values);
    send(200, ['data' => ['id' => $id]]);
}

function update(PDO $db, string $resource, int $account, string $id): void
{
    ['table' => $table, 'fields' => $fields] = RESOURCES[$resource];
    $db->exec('BEGIN IMMEDIATE');
    $row = find($db, $resource, $account, $id);
    $values = read_form($fields, false);
    if ($resource === 'notification-handlers') {
        $values = pack_settings($values, (string) ($values['type'] ?? $row['type']), json_decode($row['settings'], true));
    }
    $values['last_datetime'] = gmdate('Y-m-d H:i:s');
    $set = implode(' = ?, ', array_keys($values)) . ' = ?';
    query($db, "UPDATE $table SET $set WHERE id = ? AND account_id = ?", [...array_values($values), $row['id'], $account]);
    $db->exec('COMMIT');
    send(200, ['data' => ['id' => $row['id']]]);
}

function delete(PDO $db, string $resource, int $account, string $id): void
{
    $db->exec('BEGIN IMMEDIATE');
    $row = find($db, $resource, $account, $id);
    query($db, 'DELETE FROM ' . RESOURCES[$resource]['table'] . ' WHERE id = ? AND account_id = ?', [$row['id'], $account]);
    $db->exec('COMMIT');
    send(200, ['data' => ['id' => $row['id']]]);
}

/** @param array<string, mixed> $values
 *  @param array<string, string> $stored
 *  @return array<string, mixed> */
function pack_settings(array $values, string $type, array $stored): array
{
    $sent = array_intersect_key($values, HANDLER_SETTINGS[$type]);
    $values = array_intersect_key($values, ['name' => true, 'type' => true, 'is_enabled' => true]);
    if ($sent !== []) {
        $values['settings'] = json_encode($sent + $stored, JSON_THROW_ON_ERROR);
    }
    return $values;
}

function check_form(): void
{
    $known = preg_match('#^(multipart/form-data|application/x-www-form-urlencoded)\s*(;|\z)#i', $_SERVER['CONTENT_TYPE'] ?? '') === 1;
    if (!$known && (int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > 0) {
        throw new ApiError(415, 'Send the fields as multipart/form-data.');
    }
    $problem = error_get_last();
    if ($problem !== null) {
        throw new ApiError(str_contains($problem['message'], 'exceeds the limit') ? 413 : 400, 'The form could not be read.');
    }
}

function handle(PDO $db): void
{
    $account = authenticate($db);
    $method = $_SERVER['REQUEST_METHOD'] === 'HEAD' ? 'GET' : $_SERVER['REQUEST_METHOD'];
    $path = rawurldecode(explode('?', $_SERVER['REQUEST_URI'], 2)[0]);
    $names = implode('|', array_keys(RESOURCES));
    if (preg_match("#^/api/(projects(?=/?\\z)|$names)(?:/([^/]*))?/?\\z#", $path, $match) !== 1) {
        throw new ApiError(404, 'There is no such address.');
    }
    $id = $match[2] ?? '';
    $resource = $match[1] === 'projects' ? 'splash-pages' : $match[1];
    if ($id !== '') {
        match ($method) {
            'GET' => send(200, ['data' => present(find($db, $resource, $account, $id))]),
            'POST' => update($db, $resource, $account, $id),
            'DELETE' => delete($db, $resource, $account, $id),
            default => throw new ApiError(405, 'Method not allowed.', 'Allow: GET, POST, DELETE'),
        };
    } elseif ($method === 'GET') {
        index($db, $resource, $account);
    } elseif ($method === 'POST' && $match[1] !== 'splash-pages') {
        create($db, $resource, $account);
    } else {
        throw new ApiError(405, 'Method not allowed.', $match[1] === 'splash-pages' ? 'Allow: GET' : 'Allow: GET, POST');
    }
}

function seed(PDO $db): void
{
    $at = static fn (int $days, int $seconds = 0): string => gmdate('Y-m-d H:i:s', strtotime("-$days days") + $seconds);
    $db->beginTransaction();
    query($db, "INSERT INTO accounts (id, api_key) VALUES (1, 'demo-key-harbour'), (2, 'demo-key-alpine')");
    $topics = ['Spring sale', 'Newsletter', 'Webinar', 'Podcast', 'Careers', 'Press kit', 'Beta programme'];
    foreach (range(0, 27) as $i) {
        $dates = ['datetime' => $at(60 - 2 * $i), 'last_datetime' => $i % 3 === 0 ? $at(59 - 2 * $i, 4242) : null];
        $page = ['name' => $topics[$i % 7] . ' ' . (2021 + intdiv($i, 7)), 'color' => sprintf('#%06x', 574321 * ($i + 1))];
        insert($db, 'splash_pages', ['account_id' => 1] + $page + $dates);
        $domain = ['account_id' => 1, 'host' => "link$i.harbour.example", 'is_enabled' => (int) ($i % 5 !== 0)] + $dates;
        insert($db, 'domains', $domain + ['custom_index_url' => $i % 4 === 0 ? 'https://harbour.example/' : '']);
        if ($i % 14 === 5) {
            insert($db, 'domains', ['account_id' => 2, 'host' => "go$i.alpine.example"] + $dates);
        }
        $type = array_keys(HANDLER_SETTINGS)[$i % 6];
        $values = ['email' => "team$i@harbour.example", 'telegram' => "70$i:AAHk", 'telegram_chat_id' => "-100$i"];
        $settings = array_intersect_key($values + [$type => "https://hooks.harbour.example/$type/$i"], HANDLER_SETTINGS[$type]);
        $handler = ['account_id' => 1, 'type' => $type, 'name' => ucfirst(strtr($type, '_', ' ')) . " alerts $i"] + $dates;
        insert($db, 'notification_handlers', $handler + ['settings' => json_encode($settings), 'is_enabled' => (int) ($i % 4 !== 3)]);
    }
    $db->commit();
}

/** Runs the built-in server as a child process until a signal comes; gives the exit code. */
function serve(int $port): int
{
    $dir = sys_get_temp_dir() . '/links-' . bin2hex(random_bytes(6));
    mkdir($dir, 0700);
    $db = connect($dir);
    $db->exec('PRAGMA journal_mode = WAL');
    $db->exec(SCHEMA);
    seed($db);
    unset($db);
    $signals = [SIGTERM, SIGINT, SIGHUP, SIGCHLD];
    pcntl_sigprocmask(SIG_BLOCK, $signals);
    $child = pcntl_fork();
    if ($child === 0) {
        pcntl_sigprocmask(SIG_UNBLOCK, $signals);
        posix_setsid();
        fclose(STDERR);
        $null = fopen('/dev/null', 'w');
        $options = [
            '-ddisplay_errors=0', '-dlog_errors=1', "-derror_log=$dir/error.log", "-dupload_tmp_dir=$dir", '-dmemory_limit=512M',
            '-dupload_max_filesize=32M', '-dpost_max_size=128M', '-dmax_file_uploads=100', '-dmax_input_vars=10000',
        ];
        $environment = ['PHP_CLI_SERVER_WORKERS' => '4', 'LINKS_DIR' => $dir] + getenv();
        pcntl_exec(PHP_BINARY, [...$options, '-S', "127.0.0.1:$port", __FILE__], $environment);
        exit(127);
    }

    $context = stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 1]]);
    do {
        usleep(20000);
        $running = pcntl_waitpid($child, $status, WNOHANG) === 0;
    } while ($running && @file_get_contents("http://127.0.0.1:$port/api/", false, $context) === false);
    if ($running) {
        echo "listening on http://127.0.0.1:$port\n";
        pcntl_sigwaitinfo($signals);
        posix_kill(-$child, SIGTERM);
        pcntl_waitpid($child, $status);
    }
    array_map('unlink', glob("$dir/*") ?: []);
    rmdir($dir);
    return $running ? 0 : 1;
}

if (PHP_SAPI === 'cli') {
    exit(isset($argv[1]) && ctype_digit($argv[1]) ? serve((int) $argv[1]) : "usage: php server.php PORT\n");
}

try {
    handle(connect((string) getenv('LINKS_DIR')));
} catch (ApiError $error) {
    header($error->header);
    send($error->status, ['errors' => [['title' => $error->getMessage(), 'status' => $error->status]]]);
} catch (Throwable $error) {
    error_log((string) $error);
    send(500, ['errors' => [['title' => 'Something went wrong.', 'status' => 500]]]);
}
