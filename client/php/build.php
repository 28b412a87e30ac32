<?php

// Builds the Composer package in a folder:
//
//     php build.php FOLDER
//
// FOLDER then has composer.json, README.md and src. It also has storefront.php, the whole package in one file for hosts
// without Composer. The models and operations come from gen/php, where go generate writes them.

declare(strict_types=1);

if ($argc !== 2) {
    fwrite(STDERR, "usage: php build.php FOLDER\n");
    exit(2);
}
$out = $argv[1];
$classes = [];
foreach ([__DIR__ . '/src', __DIR__ . '/../../gen/php'] as $folder) {
    $files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator($folder, FilesystemIterator::SKIP_DOTS));
    foreach ($files as $file) {
        $name = str_replace('\\', '/', substr((string) $file, strlen($folder) + 1));
        $classes[$name] = (string) file_get_contents((string) $file);
    }
}
ksort($classes);
// In the single file, a parent must be declared before its children.
$parents = array_flip(['Event.php', 'Transport.php']);
$classes = array_intersect_key($classes, $parents) + $classes;

$put = static function (string $name, string $text) use ($out): void {
    is_dir(dirname("$out/$name")) || mkdir(dirname("$out/$name"), 0o755, true);
    file_put_contents("$out/$name", $text) === strlen($text) || throw new RuntimeException("cannot write $out/$name");
};
$one = "<?php\n\n// The package storefront/client in one file, made by its build.php.\n\ndeclare(strict_types=1);\n";
foreach ($classes as $name => $text) {
    $put("src/$name", $text);
    if (!preg_match('/^namespace ([\w\\\\]+);\n(.*)$/ms', $text, $parts)) {
        throw new RuntimeException("$name has no namespace");
    }
    $one .= "\nnamespace $parts[1] {\n$parts[2]}\n";
}
$put('storefront.php', $one);
foreach (['composer.json', 'README.md'] as $name) {
    $put($name, (string) file_get_contents(__DIR__ . "/$name"));
}
