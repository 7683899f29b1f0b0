# Completion of leadpipe for PowerShell, 5.1 too.
Register-ArgumentCompleter -Native -CommandName leadpipe, leadpipe.cmd, leadpipe.ps1 -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @(
        $commandAst.CommandElements |
            Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } }
    )
    # Windows PowerShell would leave out an empty word.
    $last = if ($wordToComplete) { "$wordToComplete" } else { ' ' }
    # The command line of the user may go on with the exit code of its last program.
    $code = $global:LASTEXITCODE
    $encoding = [Console]::OutputEncoding
    try {
        # ISE has no console, and would fail here.
        try { [Console]::OutputEncoding = [System.Text.UTF8Encoding]::new($false) } catch {}
        # The quotes keep the -- from being taken away by the script that npm starts leadpipe with.
        $replies = @($null | & leadpipe completion powershell '--' @words $last 2>$null)
    } finally {
        $global:LASTEXITCODE = $code
        try { [Console]::OutputEncoding = $encoding } catch {}
    }
    # Without a result, PowerShell completes files.
    if ($replies.Count -eq 0 -or $replies[0] -ne 'words') { return }
    foreach ($reply in ($replies | Select-Object -Skip 1)) {
        $text, $meaning = $reply -split "`t", 2
        if (-not $meaning) { $meaning = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $meaning)
    }
}
